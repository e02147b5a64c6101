import type { PickableTopic } from "../../src/topics/live/feed.ts";

/** A topic that wants the events whose `event.a` is 1. */
export const createPickableTopic = (externalId: string): PickableTopic => ({
  id: externalId,
  externalId,
  name: externalId,
  namespace: "",
  headerQuery: "",
  contentQuery: "a=1",
});
