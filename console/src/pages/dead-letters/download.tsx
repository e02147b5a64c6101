/** Saves bytes as a file. */
export const Download = ({
  bytes,
  name,
}: {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly name: string;
}) => (
  <button
    type="button"
    class="small outline"
    onClick={() => {
      const url = URL.createObjectURL(new Blob([bytes]));
      const link = document.createElement("a");
      link.href = url;
      link.download = name;
      link.click();
      URL.revokeObjectURL(url);
    }}
  >
    Download
  </button>
);
