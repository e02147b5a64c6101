import { openIdPrefix } from "../../../schemas/user.ts";
import { Page } from "../components/page.tsx";
import { OwnPassword } from "./account/password.tsx";
import { OwnSessions } from "./account/sessions.tsx";
import { useSession } from "../session.ts";

/** What users can do about their own access. */
export function Account() {
  const { session } = useSession();
  return (
    <Page name="Your account">
      <OwnSessions />
      {!session.user.startsWith(openIdPrefix) && <OwnPassword />}
    </Page>
  );
}
