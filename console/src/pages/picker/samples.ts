/** Sample events in the form that brokers send. */
export const samples = [
  {
    name: "A critical trouble ticket",
    event: {
      eventId: "00001",
      "@type": "TroubleTicketCreateEvent",
      eventType: "TroubleTicketCreateEvent",
      event: { troubleTicket: { id: "TT-1", severity: "Critical", status: "acknowledged", priority: "1" } },
    },
  },
  {
    name: "A cancelled product order",
    event: {
      eventId: "00002",
      "@type": "ProductOrderStateChangeEvent",
      eventType: "ProductOrderStateChangeEvent",
      event: { productOrder: { id: "PO-7", state: "cancelled" } },
    },
  },
  {
    name: "A sensor that is offline",
    event: {
      eventId: "00003",
      "@type": "IotDeviceStateChangeEvent",
      eventType: "IotDeviceStateChangeEvent",
      event: { iotDevice: { id: "S-42", deviceState: "offline" } },
    },
  },
] as const;
