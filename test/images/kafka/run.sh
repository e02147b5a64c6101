#!/usr/bin/env bash
# Starts the broker as apache/kafka does: writes KAFKA_* variables to server.properties, formats the storage once, and
# replaces the shell with the broker, so that it receives the signals.
set -euo pipefail

readonly properties=/opt/kafka/config/server.properties
: "${CLUSTER_ID:=pQZcnmFPTqSiN7cKhjbVWA}" # 16 bytes in base64url

# KAFKA_A_B is a.b; two underscores are an underscore, three a hyphen.
while IFS='=' read -r -d '' name value; do
  case $name in
    KAFKA_VERSION | KAFKA_HEAP_OPTS | KAFKA_OPTS | KAFKA_JMX_* | KAFKA_JVM_* | KAFKA_GC_* | KAFKA_LOG4J_*) continue ;;
    KAFKA_*)
      name=${name#KAFKA_}
      name=${name,,}
      name=${name//___/-}
      name=${name//__/$'\n'}
      name=${name//_/.}
      printf '%s=%s\n' "${name//$'\n'/_}" "$value"
      ;;
  esac
done < <(env --null) > "$properties"

if [[ ! -s $properties ]]; then
  echo "No KAFKA_* variables are set. This image has no defaults: set them as for apache/kafka." >&2
  exit 64
fi

/opt/kafka/bin/kafka-storage.sh format --ignore-formatted --cluster-id "$CLUSTER_ID" --config "$properties"
exec /opt/kafka/bin/kafka-server-start.sh "$properties"
