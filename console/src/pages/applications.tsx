import { Page } from "../components/page.tsx";
import { Names } from "./applications/catalog-section.tsx";

/** What push tokens can be registered for. */
export const Applications = () => (
  <Page name="Applications">
    <Names kind="applications" />
    <Names kind="platforms" />
  </Page>
);
