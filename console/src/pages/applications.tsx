import { Page } from "../components/page.tsx";
import { CatalogSection } from "./applications/catalog-section.tsx";

export const Applications = () => (
  <Page name="Applications">
    <CatalogSection kind="applications" />
    <CatalogSection kind="platforms" />
  </Page>
);
