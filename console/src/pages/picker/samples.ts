/** Events as brokers send them, to begin with. */
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
    name: "A product order that was cancelled",
    event: {
      eventId: "00002",
      "@type": "ProductOrderStateChangeEvent",
      eventType: "ProductOrderStateChangeEvent",
      event: { productOrder: { id: "PO-7", state: "cancelled" } },
    },
  },
  {
    name: "A sensor that went offline",
    event: {
      eventId: "00003",
      "@type": "IotDeviceStateChangeEvent",
      eventType: "IotDeviceStateChangeEvent",
      event: { iotDevice: { id: "S-42", deviceState: "offline" } },
    },
  },
] as const;
