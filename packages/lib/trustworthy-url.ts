/** Whether traffic to this URL cannot be tampered with: HTTPS, or HTTP on the loopback interface. */
export function isTrustworthy(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:") return true;
  return (
    protocol === "http:" && (/^127(\.\d+){3}$/.test(hostname) || ["localhost", "[::1]"].includes(hostname))
  );
}
