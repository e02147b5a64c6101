import type { Overview } from "../../../../schemas/overview.ts";

const checkNames: Readonly<Record<string, string>> = {
  mongodb: "MongoDB",
  kafka: "Kafka",
  consumer: "Announcement consumer",
  pushFeedback: "Push-feedback consumer",
  router: "Router",
};

export function Health({ ready, checks, problems }: Pick<Overview, "ready" | "checks" | "problems">) {
  return (
    <article class={ready ? "well" : "failure"} aria-labelledby="health">
      <div role="status">
        <h2 id="health">{ready ? "All systems operational" : "Some checks are failing"}</h2>
      </div>
      <ul class="checks">
        {Object.entries(checks).map(([name, { ok, reason }]) => (
          <li key={name}>
            <span aria-hidden="true">{ok ? "✓" : "✗"}</span> {checkNames[name] ?? name}
            {ok ? "" : `: ${reason ?? "failing"}`}
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
