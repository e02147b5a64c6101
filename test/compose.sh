#!/usr/bin/env bash
# Proves docker-compose.yml: brings it up, creates a topic over HTTP and another by an announcement, takes it down and up
# again on the same data, and removes it with its volumes.
#
# Usage: test/compose.sh       (where no registry can be reached: test/images/build.sh first, and export what it says)
#
# Needs curl, and node_modules for the look at the broker from outside. HTTP_PORT and KAFKA_HOST_PORT choose other ports.
# shellcheck disable=SC2016 # the quoted programs are JavaScript, whose ${…} is not the shell's
set -euo pipefail
cd "$(dirname "$0")/.."

export HTTP_PORT=${HTTP_PORT:-8080} KAFKA_HOST_PORT=${KAFKA_HOST_PORT:-9094}
export BOOTSTRAP_USER=admin BOOTSTRAP_PASSWORD=a-password-for-the-proof
export COMPOSE_PROJECT_NAME=topicsync-proof

if docker compose version > /dev/null 2>&1; then compose=(docker compose); else compose=(docker-compose); fi
readonly url=http://127.0.0.1:$HTTP_PORT
readonly announcements=topicsync.announcements

say() { printf '\n==> %s\n' "$*"; }

clean_up() {
  local code=$?
  if ((code != 0)); then "${compose[@]}" logs --tail=40 || true; fi
  say "down, with volumes"
  "${compose[@]}" down --volumes --timeout 30
  if ((code == 0)); then say "All of it holds."; else say "FAILED"; fi
}

# Runs a command until it succeeds, for at most so many seconds.
eventually() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    if ((SECONDS > deadline)); then echo "gave up on: $*" >&2; return 1; fi
    sleep 1
  done
}

health_is() {
  [[ $(docker inspect --format '{{.State.Health.Status}}' "$("${compose[@]}" ps --quiet "$1")") == "$2" ]]
}

is_ready() { curl --silent --fail "$url/readyz" > /dev/null; }

wait_for_all() {
  local service
  for service in kafka mongo topicsync; do
    eventually 120 health_is "$service" healthy
    echo "$service is healthy"
  done
  eventually 60 is_ready
  echo "ready: $(curl --silent "$url/readyz")"
}

# The status and the body of the answer to a topic's creation.
post_topic() {
  curl --silent --show-error --user "$BOOTSTRAP_USER:$BOOTSTRAP_PASSWORD" --header 'Content-Type: application/json' \
    --write-out '\n%{http_code}\n' --data "$1" "$url/api/svc_api_notif_mgmt/v1/topic"
}

# Looks into the store from inside, since the store is not published: the service's own driver and settings are there.
is_stored() {
  "${compose[@]}" exec -T topicsync node --input-type=module --eval '
    import { MongoClient } from "mongodb";
    const client = new MongoClient(process.env.MONGODB_URI);
    const topic = await client.db().collection("svc_api_notif_mgmt_topic").findOne({ topic_id: process.argv[1] });
    await client.close();
    if (topic?.source?.kind !== process.argv[2]) process.exit(1);
    console.log(`${topic.topic_id} is stored, from ${JSON.stringify(topic.source)}`);
  ' "$1" "$2"
}

trap clean_up EXIT

say "up"
"${compose[@]}" up --detach --build
wait_for_all

say "a topic over HTTP"
answer=$(post_topic '{"name":"orders","externalId":"by-http","contentQuery":"state=acknowledged"}')
echo "$answer"
[[ $answer == *$'\n201' ]]
eventually 10 is_stored by-http http

say "the same external id again is rejected"
answer=$(post_topic '{"name":"others","externalId":"by-http"}')
echo "$answer"
[[ $answer == *DUPLICATE_EXTERNAL_ID*$'\n400' ]]

say "an announcement by Kafka's own console producer"
printf '%s\n' 'by-kafka|{"name":"services","externalId":"by-kafka","headerQuery":"eventType=ServiceOrderCreateEvent"}' |
  "${compose[@]}" exec -T kafka /opt/kafka/bin/kafka-console-producer.sh --bootstrap-server kafka:9092 \
    --topic "$announcements" --reader-property parse.key=true --reader-property 'key.separator=|'
eventually 30 is_stored by-kafka announcement

say "the broker, seen from this machine"
PATH=$PWD/node_modules/.bin:$PATH node --input-type=module --eval '
  import { Kafka } from "kafkajs";
  const admin = new Kafka({ brokers: [process.argv[1]] }).admin();
  await admin.connect();
  const [partition] = await admin.fetchTopicOffsets(process.argv[2]);
  await admin.disconnect();
  console.log(`${process.argv[2]}: ${JSON.stringify(partition)}`);
  process.exit(partition.high === "1" ? 0 : 1);
' "127.0.0.1:$KAFKA_HOST_PORT" "$announcements" 2> /dev/null

say "the service ends in good order when it is told to"
container=$("${compose[@]}" ps --quiet topicsync)
"${compose[@]}" stop --timeout 30 topicsync
echo "exit code $(docker inspect --format '{{.State.ExitCode}}' "$container")"
[[ $(docker inspect --format '{{.State.ExitCode}}' "$container") == 0 ]]

say "down without volumes, and up again: the data are still there"
"${compose[@]}" down --timeout 30
"${compose[@]}" up --detach
wait_for_all
is_stored by-http http
is_stored by-kafka announcement
