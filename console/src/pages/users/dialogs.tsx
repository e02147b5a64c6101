import { useState } from "preact/hooks";

import type { UserView } from "../../../../schemas/user.ts";
import { api } from "../../api.ts";
import { ActionDialog } from "../../components/confirm-dialog.tsx";
import { TextField } from "../../components/text-field.tsx";
import { PasswordField } from "../../components/password-field.tsx";
import { GrantsField } from "../../components/grants-field.tsx";

export const usersPath = "/api/topicsync/v1/users";
const getActionPath = ({ name }: UserView, action: string): string =>
  `${usersPath}/${encodeURIComponent(name)}/${action}`;

interface DialogProps {
  readonly onDone: (notice: string) => void;
  readonly onCancel: () => void;
}

interface UserDialogProps extends DialogProps {
  readonly user: UserView;
  /** Whether it is the signed-in user. */
  readonly isSelf: boolean;
}

export function AddUserDialog({ onDone, onCancel }: DialogProps) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [roles, setRoles] = useState<readonly string[]>([]);
  return (
    <ActionDialog
      title="Add a user"
      confirmLabel="Add"
      run={() => api.post<UserView>(usersPath, { name, password, roles })}
      onDone={() => {
        onDone(`${name} was added.`);
      }}
      onCancel={onCancel}
    >
      <TextField
        label="Name"
        required
        maxLength={256}
        pattern="[^:]+"
        title="A name without a colon"
        value={name}
        onChange={setName}
      />
      <PasswordField value={password} onChange={setPassword} />
      <GrantsField selected={roles} onChange={setRoles} />
    </ActionDialog>
  );
}

export function RolesDialog({ user, isSelf, onDone, onCancel }: UserDialogProps) {
  const [selected, setSelected] = useState<readonly string[]>(user.roles);
  const add = selected.filter((one) => !user.roles.includes(one));
  const remove = user.roles.filter((one) => !selected.includes(one));
  return (
    <ActionDialog
      title={`Roles of ${user.name}`}
      confirmLabel="Save"
      canConfirm={add.length + remove.length > 0}
      run={() => api.post<UserView>(getActionPath(user, "roles"), { add, remove })}
      onDone={() => {
        onDone(`The roles of ${user.name} were changed.`);
      }}
      onCancel={onCancel}
    >
      <GrantsField selected={selected} onChange={setSelected} isSelf={isSelf} />
    </ActionDialog>
  );
}

export function PasswordDialog({ user, isSelf, onDone, onCancel }: UserDialogProps) {
  const [password, setPassword] = useState("");
  return (
    <ActionDialog
      title={`New password for ${user.name}`}
      confirmLabel="Set"
      run={() => api.post<UserView>(getActionPath(user, "password"), { password })}
      onDone={() => {
        onDone(`The password of ${user.name} was changed.`);
      }}
      onCancel={onCancel}
    >
      <p>
        {isSelf
          ? "This ends your session. Sign in again with the new password."
          : "This ends all sessions of the user."}
      </p>
      <PasswordField value={password} onChange={setPassword} />
    </ActionDialog>
  );
}

export function SessionsDialog({ user, isSelf, onDone, onCancel }: UserDialogProps) {
  return (
    <ActionDialog
      title={`End the sessions of ${user.name}?`}
      confirmLabel="End them"
      run={() => api.delete(getActionPath(user, "sessions"))}
      onDone={() => {
        onDone(`The sessions of ${user.name} were ended.`);
      }}
      onCancel={onCancel}
    >
      <p>
        {isSelf
          ? "This ends your own session as well."
          : "The user is signed out of the console everywhere, and can sign in again."}
      </p>
    </ActionDialog>
  );
}

export function ActivationDialog({ user, onDone, onCancel }: UserDialogProps) {
  const { name, active } = user;
  return (
    <ActionDialog
      title={`${active ? "Disable" : "Enable"} ${name}?`}
      confirmLabel={active ? "Disable" : "Enable"}
      run={() => api.post<UserView>(getActionPath(user, active ? "disable" : "enable"), {})}
      onDone={() => {
        onDone(`${name} was ${active ? "disabled" : "enabled"}.`);
      }}
      onCancel={onCancel}
    >
      <p>
        {active
          ? "The user is signed out immediately and rejected everywhere within 30 seconds. Nothing is deleted."
          : "The user can sign in again, with the same password and roles."}
      </p>
    </ActionDialog>
  );
}
