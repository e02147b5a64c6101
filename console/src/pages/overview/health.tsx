import type { Overview } from "../../../../schemas/overview.ts";

/** What the service looks at, in words. */
const names: Readonly<Record<string, string>> = {
  mongodb: "MongoDB",
  kafka: "Kafka",
  consumer: "Consumer of the announcements",
  pushFeedback: "Consumer of the push feedback",
};

/** Whether everything works, and what does not. */
export function Health({ ready, checks, problems }: Pick<Overview, "ready" | "checks" | "problems">) {
  return (
    <article class={ready ? "well" : "failure"} aria-labelledby="health">
      <div role="status">
        <h2 id="health">{ready ? "Everything works" : "Something does not work"}</h2>
      </div>
      <ul class="checks">
        {Object.entries(checks).map(([name, { ok, reason }]) => (
          <li key={name}>
            <span aria-hidden="true">{ok ? "✓" : "✗"}</span> {names[name] ?? name}
            {ok ? "" : `: ${reason ?? "does not work"}`}
          </li>
        ))}
        {problems.map((problem) => (
          <li key={problem}>
            <span aria-hidden="true">?</span> {problem}
          </li>
        ))}
      </ul>
    </article>
  );
}
