import { Page } from "../page.tsx";
import { Names } from "./applications/names.tsx";

/** What push tokens can be registered for. */
export const Applications = () => (
  <Page name="Applications">
    <Names kind="applications" />
    <Names kind="platforms" />
  </Page>
);
