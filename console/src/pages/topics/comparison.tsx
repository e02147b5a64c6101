import { useState } from "preact/hooks";

import type { VersionView } from "../../../../schemas/topics/versions.ts";
import { SelectField } from "../../components/select-field.tsx";
import { DefinitionDifference, isSameDefinition } from "./difference.tsx";
import { describeEffect } from "./effect.ts";

/** Compares two versions. */
export function Comparison({ versions }: { readonly versions: readonly VersionView[] }) {
  const [chosen, setChosen] = useState({ from: "", to: "" });
  const options = Object.fromEntries([["", "Choose a version"], ...versions.map(toOption)]);
  const [before, after] = [find(versions, chosen.from), find(versions, chosen.to)];
  return (
    <section aria-label="Compare versions">
      <div class="choice">
        <SelectField
          label="Compare"
          options={options}
          value={chosen.from}
          onChange={(from) => {
            setChosen({ ...chosen, from });
          }}
        />
        <SelectField
          label="with"
          options={options}
          value={chosen.to}
          onChange={(to) => {
            setChosen({ ...chosen, to });
          }}
        />
      </div>
      <div role="status">
        {before !== undefined && after !== undefined && <Result before={before} after={after} />}
      </div>
    </section>
  );
}

const getKey = ({ id, version }: VersionView): string => `${version} ${id}`;
const toOption = (version: VersionView): [string, string] => [
  // An integer would be sorted before other keys.
  getKey(version),
  `Version ${version.version}${version.validTo === undefined ? ", current" : ""}`,
];
const find = (versions: readonly VersionView[], key: string): VersionView | undefined =>
  versions.find((one) => getKey(one) === key);

function Result({ before, after }: { readonly before: VersionView; readonly after: VersionView }) {
  if (isSameDefinition(before, after)) return <p>Both versions have the same definition.</p>;
  const effect = describeEffect(before, after);
  return (
    <>
      <DefinitionDifference before={before} after={after} />
      {effect !== undefined && (
        <p>
          <strong>{effect.title}.</strong> {effect.text}
        </p>
      )}
    </>
  );
}
