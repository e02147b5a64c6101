const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });

/** A share as a percentage and a bar. One that is not 0 or 1 does not look like it. */
export function Share({ share }: { readonly share: number }) {
  const text =
    share > 0 && share < 0.01
      ? `< ${percent.format(0.01)}`
      : percent.format(share < 1 ? Math.min(share, 0.99) : 1);
  return (
    <>
      {text}
      <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="10" />
        <rect class="active" width={100 * share} height="10" />
      </svg>
    </>
  );
}
