#!/usr/bin/env bash
# Runs Kafka's command line tools: the script's name selects the main class.
set -euo pipefail

log=log4j2-tools.properties
heap=-Xmx256m
case $(basename "$0") in
  kafka-server-start.sh) main=kafka.Kafka log=log4j2.properties heap=-Xmx1g ;;
  kafka-storage.sh) main=kafka.tools.StorageTool ;;
  kafka-topics.sh) main=org.apache.kafka.tools.TopicCommand ;;
  kafka-console-producer.sh) main=org.apache.kafka.tools.ConsoleProducer ;;
  kafka-console-consumer.sh) main=org.apache.kafka.tools.consumer.ConsoleConsumer ;;
  kafka-broker-api-versions.sh) main=org.apache.kafka.tools.BrokerApiVersionsCommand ;;
  *) echo "run this as one of: $(cd /opt/kafka/bin && echo kafka-*.sh)" >&2; exit 64 ;;
esac

# KAFKA_HEAP_OPTS is a list of options.
# shellcheck disable=SC2086
exec java ${KAFKA_HEAP_OPTS:-$heap} -Dlog4j2.configurationFile="/opt/kafka/config/$log" \
  -cp '/opt/kafka/libs/*' "$main" "$@"
