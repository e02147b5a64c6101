#!/usr/bin/env bash
# Builds the images that the containers' tests and compose.sh run on where no image registry can be reached:
#
#   topicsync-test/kafka  stands in for apache/kafka: the same release from Maven Central, the same environment variables
#   topicsync-test/mongo  stands in for mongo: SecantusDB behind mongod's options that topicsync uses
#   topicsync-test/node   stands in for node: Node from the npm registry, with which topicsync's own image is built
#   topicsync-test/base   stands in for distroless/cc: the libraries that Node needs, on which topicsync's own image stands
#
# Usage: test/images/build.sh [--rebuild] [kafka] [mongo] [node] [base]
#
# Needs a Linux machine with Docker, debootstrap (so: root), Maven with a JDK, pip and npm. An image that is there is
# left alone unless --rebuild is given. Everything is downloaded by the machine's own tools, with their mirrors, caches
# and certificates; only Debian's packages are installed from inside a build.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
readonly here
readonly suite=bookworm # its Java is 17, the oldest that Kafka 4 runs on
readonly python=3.11    # the suite's own: the wheels must fit it
readonly secantus=0.7.0b3
readonly node=24
readonly npm=11

rebuild=false
wanted=()
for argument in "$@"; do
  case $argument in
    --rebuild) rebuild=true ;;
    kafka | mongo | node | base) wanted+=("$argument") ;;
    *) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 64 ;;
  esac
done
if ((${#wanted[@]} == 0)); then wanted=(kafka mongo node base); fi

work=$(mktemp -d)
readonly work
trap 'rm -rf --one-file-system "$work"' EXIT

say() { printf '\n==> %s\n' "$*"; }

is_there() { ! $rebuild && docker image inspect "$1" > /dev/null 2>&1; }

# debian: a minimal system, with the certificate authorities that this machine trusts.
debian_image() {
  if is_there topicsync-test/debian; then say "topicsync-test/debian is there"; return; fi
  say "topicsync-test/debian: debootstrap of $suite"
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$work/debian" > "$work/debootstrap.log" ||
    { tail -n 20 "$work/debootstrap.log" >&2; return 1; }
  rm -rf "$work/debian/var/cache/apt/archives" "$work/debian/var/lib/apt/lists"
  mkdir -p "$work/debian/var/cache/apt/archives/partial" "$work/debian/var/lib/apt/lists/partial"
  tar -C "$work/debian" --one-file-system -c . | docker import - topicsync-test/debian
}

kafka_files() {
  mvn --batch-mode --quiet -f "$1/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$1/libs"
  rm -rf "$1/target"
}

# Compiled files hold times, which would make every build a new one.
mongo_files() {
  python3 -m pip install --quiet --no-compile --only-binary=:all: --python-version "$python" --target "$1/site" \
    "secantusdb==$secantus"
}

# The npm package "node" fetches the binary for this machine in its install script.
node_files() {
  printf '{"private":true,"allowScripts":{"node":true}}\n' > "$1/package.json"
  npm install --prefix "$1" --no-audit --no-fund --loglevel=error "node@$node" "npm@$npm"
  mkdir -p "$1/files/bin" "$1/files/lib/node_modules"
  cp "$1/node_modules/node/bin/node" "$1/files/bin/node"
  cp -R "$1/node_modules/npm" "$1/files/lib/node_modules/npm"
  rm -rf "$1/node_modules" "$1/package.json" "$1/package-lock.json"
  # Builds on this image download packages too: they trust what this machine trusts, a company's own authority included.
  mkdir -p "$1/certificates"
  local bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
  if [[ -r $bundle ]]; then cp "$bundle" "$1/certificates/ca-certificates.crt"; fi
}

base_files() { :; }

image() {
  local name=$1 tag=topicsync-test/$1 context=$work/$1
  if is_there "$tag"; then say "$tag is there"; return; fi
  say "$tag: downloading"
  cp -R "$here/$name" "$context"
  "${name}_files" "$context"
  say "$tag: building"
  docker build --tag "$tag" "$context"
}

debian_image
for name in "${wanted[@]}"; do image "$name"; done

say "Ready. Use them by"
cat << 'END'
export TOPICSYNC_KAFKA_IMAGE=topicsync-test/kafka
export TOPICSYNC_MONGO_IMAGE=topicsync-test/mongo
export TOPICSYNC_NODE_IMAGE=topicsync-test/node
export TOPICSYNC_BASE_IMAGE=topicsync-test/base
END
