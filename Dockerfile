ARG NODE_IMAGE=node:24-slim
# Contains libstdc++, time zones and certificate authorities; no shell, no package manager.
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12:nonroot

# Production dependencies, listed in the SBOM. Without install scripts (no dependency needs one), type declarations
# and source maps.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /topicsync
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --workspaces=false \
  && npm pkg delete devDependencies scripts workspaces \
  && npm sbom --sbom-format=cyclonedx > sbom.cdx.json \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.[cm]ts' \) -delete

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json tsconfig.build.json ./
COPY packages packages
COPY console console
RUN npm ci --ignore-scripts
COPY schemas schemas
COPY src src
COPY consumers consumers
COPY http http
COPY deploy/npm deploy/npm
RUN npm run build
# The compiled code for the user and the options below, so that the service starts sooner. COPY makes it read-only.
RUN mkdir -m 777 dist/compile-cache \
  && setpriv --reuid=65532 --clear-groups \
    node --max-semi-space-size=16 dist/cli.js start --help > /dev/null \
  && chmod 755 dist/compile-cache

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="topicsync" \
  org.opencontainers.image.description="Keeps a MongoDB collection of event topics in sync with a message broker" \
  org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=dependencies /topicsync/node_modules node_modules
COPY --from=dependencies /topicsync/package.json /topicsync/sbom.cdx.json ./
COPY --from=build /app/dist dist

# Listen on all interfaces: the loopback interface of a container is not reachable from outside.
ENV NODE_ENV=production \
  TOPICSYNC_STACK=none \
  HTTP_HOST=::
EXPOSE 8080
# Numeric, so that Kubernetes can verify runAsNonRoot.
USER 65532:65532

# Liveness only, not /readyz: a restart does not fix an unavailable broker or database.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "--eval", "const tls = process.env.HTTP_TLS_CERT; if (tls) process.env.NODE_TLS_REJECT_UNAUTHORIZED = 0; fetch(`${tls ? 'https' : 'http'}://127.0.0.1:${process.env.MANAGEMENT_PORT || process.env.HTTP_PORT || 8080}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--max-semi-space-size=16", "dist/cli.js"]
CMD ["start"]
