/**
 * The namespaces of topics. Many topics share one, which is kept once, for as long as a topic has it; those
 * without one take no memory.
 */
export function createNamespaces() {
  const byTopic = new Map<string, { readonly text: string; topics: number }>();
  const byText = new Map<string, { readonly text: string; topics: number }>();

  function remove(externalId: string): void {
    const namespace = byTopic.get(externalId);
    if (namespace === undefined) return;
    byTopic.delete(externalId);
    namespace.topics -= 1;
    if (namespace.topics === 0) byText.delete(namespace.text);
  }

  return {
    /** Sets the namespace of a topic. */
    set(externalId: string, text: string): void {
      remove(externalId);
      if (text === "") return;
      const namespace = byText.get(text) ?? { text, topics: 0 };
      byText.set(namespace.text, namespace);
      namespace.topics += 1;
      byTopic.set(externalId, namespace);
    },
    delete: remove,
    /** The namespace of a topic; "" if it has none or is unknown. */
    get: (externalId: string): string => byTopic.get(externalId)?.text ?? "",
    /** The number of different namespaces. */
    count: (): number => byText.size,
  };
}
