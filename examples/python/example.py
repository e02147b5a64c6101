"""A client of topicsync: announces a topic, sends events, and reads the copies that are routed to it."""

import json
import os
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer

BROKERS = os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092")
ANNOUNCEMENTS_TOPIC = os.environ.get("ANNOUNCEMENTS_TOPIC", "topicsync.announcements")
EVENTS_TOPIC = os.environ.get("EVENTS_TOPIC", "topicsync.events")
EGRESS_TOPIC = os.environ.get("EGRESS_TOPIC", "topicsync.egress")
EXTERNAL_ID = os.environ.get("EXTERNAL_ID", "critical-tickets")
GROUP_ID = os.environ.get("GROUP_ID", EXTERNAL_ID)
PROCESSED_FILE = Path(os.environ.get("PROCESSED_FILE", "processed.txt"))


def send(topic, records):
    failures = []
    producer = Producer({"bootstrap.servers": BROKERS, "enable.idempotence": True})
    for key, value, headers in records:
        producer.produce(
            topic,
            key=key,
            value=json.dumps(value),
            headers=headers,
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
    producer.flush()
    if failures:
        raise KafkaException(failures[0])


def announce():
    """The key is the external id, so that compaction keeps the last definition of each topic."""
    definition = {
        "externalId": EXTERNAL_ID,
        "name": "Critical tickets",
        "namespace": f"examples.{EXTERNAL_ID}",
        "headerQuery": "eventType=TroubleTicketCreateEvent",
        "contentQuery": "troubleTicket.severity=critical",
    }
    send(ANNOUNCEMENTS_TOPIC, [(EXTERNAL_ID, definition, {})])
    print(f"announced {EXTERNAL_ID}")


def create_event(ticket):
    return {
        "eventId": str(uuid.uuid4()),
        "@type": "TroubleTicketCreateEvent",
        "eventType": "TroubleTicketCreateEvent",
        "eventTime": datetime.now(timezone.utc).isoformat(),
        "event": {"troubleTicket": {"id": ticket, "severity": "critical"}},
    }


def send_events():
    cloud_event = {
        "specversion": "1.0",
        "id": str(uuid.uuid4()),
        "source": "/examples/python",
        "type": "TroubleTicketCreateEvent",
        "datacontenttype": "application/json",
        "data": create_event("ticket 2"),
    }
    send(
        EVENTS_TOPIC,
        [
            ("ticket 1", create_event("ticket 1"), {}),
            ("ticket 2", cloud_event, {"content-type": "application/cloudevents+json"}),
        ],
    )
    print("sent 2 events")


def read(count):
    processed = set(PROCESSED_FILE.read_text().split()) if PROCESSED_FILE.exists() else set()
    consumer = Consumer(
        {
            "bootstrap.servers": BROKERS,
            "group.id": GROUP_ID,
            # The default of librdkafka; Kafka's own clients have read_uncommitted.
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([EGRESS_TOPIC])
    records = 0
    while records < count:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        headers = {name: value.decode() for name, value in message.headers()}
        # The Kafka topic may hold the copies of other topics.
        if headers["topicsync.topic"] == EXTERNAL_ID:
            # The same for every delivery and every copy of an event.
            event_id = headers["topicsync.event"]
            if event_id in processed:
                print(f"skipped {event_id}")
            else:
                event = json.loads(message.value())
                ticket = event.get("data", event)["event"]["troubleTicket"]
                print(f"processed {event_id}: {ticket['id']}")
                processed.add(event_id)
                with PROCESSED_FILE.open("a") as file:
                    file.write(f"{event_id}\n")
            records += 1
        consumer.commit(message, asynchronous=False)
    consumer.close()


match sys.argv[1:]:
    case ["announce"]:
        announce()
    case ["send"]:
        send_events()
    case ["read", *rest]:
        read(int(rest[0]) if rest else 2)
    case _:
        sys.exit("usage: python example.py announce | send | read COUNT")
