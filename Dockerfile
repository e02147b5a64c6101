ARG NODE_IMAGE=node:24-slim

# What the service needs to run. No install scripts: no dependency needs one, and none gets to run code in a build.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY schemas schemas
COPY src src
COPY consumers consumers
COPY http http
COPY console console
RUN npm run build

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="topicsync" \
  org.opencontainers.image.description="Keeps a MongoDB collection of event topics in step with a message broker" \
  org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./

# Inside a container the loopback interface reaches nobody; what is published is decided outside.
ENV NODE_ENV=production \
  HTTP_HOST=0.0.0.0
EXPOSE 8080
USER node

# That the process lives. Whether its broker and database answer is /readyz's matter: a restart would not mend them.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "--eval", "const tls = process.env.HTTP_TLS_CERT; if (tls) process.env.NODE_TLS_REJECT_UNAUTHORIZED = 0; fetch(`${tls ? 'https' : 'http'}://127.0.0.1:${process.env.HTTP_PORT || 8080}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--max-semi-space-size=16", "--heap-growing-percent=100", "dist/src/cli.js"]
CMD ["start"]
