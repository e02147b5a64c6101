#!/usr/bin/env bash
# Builds images for the container tests and compose.sh on machines without access to an image registry:
#
#   topicsync-test/kafka  replaces apache/kafka: the same release from Maven Central, the same environment variables
#   topicsync-test/mongo  replaces mongo: SecantusDB with the options of mongod that topicsync uses
#   topicsync-test/node   replaces node, to build topicsync's image: Node from the npm registry
#   topicsync-test/base   replaces distroless/cc, the base of topicsync's image: the libraries that Node needs
#
# Usage: test/images/build.sh [--rebuild] [kafka] [mongo] [node] [base]
#
# Requires Linux with Docker, debootstrap (which needs root), Maven with a JDK, pip and npm. Existing images are kept
# unless --rebuild is given. The machine's own tools download everything, with their mirrors, caches and certificates;
# only Debian packages are installed inside a build.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
readonly here
readonly suite=bookworm # has Java 17, the oldest version that Kafka 4 supports
readonly python=3.11    # the version in the suite, for the wheels
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

print_step() { printf '\n==> %s\n' "$*"; }

exists() { ! $rebuild && docker image inspect "$1" > /dev/null 2>&1; }

# A minimal Debian with the certificate authorities of this machine.
debian_image() {
  if exists topicsync-test/debian; then print_step "topicsync-test/debian exists"; return; fi
  print_step "topicsync-test/debian: debootstrap of $suite"
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

# Compiled files contain timestamps, which would defeat Docker's build cache.
mongo_files() {
  python3 -m pip install --quiet --no-compile --only-binary=:all: --python-version "$python" --target "$1/site" \
    "secantusdb==$secantus"
}

# The install script of the npm package "node" downloads the binary for this machine.
node_files() {
  printf '{"private":true,"allowScripts":{"node":true}}\n' > "$1/package.json"
  npm install --prefix "$1" --no-audit --no-fund --loglevel=error "node@$node" "npm@$npm"
  mkdir -p "$1/files/bin" "$1/files/lib/node_modules"
  cp "$1/node_modules/node/bin/node" "$1/files/bin/node"
  cp -R "$1/node_modules/npm" "$1/files/lib/node_modules/npm"
  rm -rf "$1/node_modules" "$1/package.json" "$1/package-lock.json"
  # Builds on this image download packages too, so they need the certificate authorities of this machine.
  mkdir -p "$1/certificates"
  local bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
  if [[ -r $bundle ]]; then cp "$bundle" "$1/certificates/ca-certificates.crt"; fi
}

base_files() { :; }

image() {
  local name=$1 tag=topicsync-test/$1 context=$work/$1
  if exists "$tag"; then print_step "$tag exists"; return; fi
  print_step "$tag: downloading"
  cp -R "$here/$name" "$context"
  "${name}_files" "$context"
  print_step "$tag: building"
  docker build --tag "$tag" "$context"
}

debian_image
for name in "${wanted[@]}"; do image "$name"; done

print_step "Done. To use the images, set"
cat << 'END'
export TOPICSYNC_KAFKA_IMAGE=topicsync-test/kafka
export TOPICSYNC_MONGO_IMAGE=topicsync-test/mongo
export TOPICSYNC_NODE_IMAGE=topicsync-test/node
export TOPICSYNC_BASE_IMAGE=topicsync-test/base
END
