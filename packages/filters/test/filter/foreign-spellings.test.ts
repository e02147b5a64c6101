import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FilterSyntaxError } from "../../filter/filter.ts";
import { parseEvent } from "../../filter/numbers.ts";
import { parseFilter } from "../../filter/parse.ts";
import { matches, readFilters } from "../../filter/topic-filters.ts";

/** What people bring from other filter languages, as their documentation writes it. */
interface Spelling {
  readonly from: "TMF630" | "EventBridge" | "Knative" | "ServiceNow" | "others";
  readonly filter: string;
}

/** It means here what it means there: the first event matches, the second one does not. */
interface Understood extends Spelling {
  readonly events: readonly [yes: string, no: string];
}

/** It is rejected, and the message says what to write instead. */
interface Rejected extends Spelling {
  readonly says: RegExp;
}

const alpha = ['{"name":"Alpha"}', '{"name":"Gamma ray"}'] as const;

const understood: readonly Understood[] = [
  { from: "TMF630", filter: "name.regex=^Al.*", events: alpha },
  { from: "TMF630", filter: "name*=^Al.*", events: alpha },
  { from: "TMF630", filter: "name=~^Al.*", events: alpha },
  { from: "TMF630", filter: "status.in=a,b", events: ['{"status":"b"}', '{"status":"a,b"}'] },
  { from: "TMF630", filter: "status.nin=a,b", events: ['{"status":"c"}', '{"status":"b"}'] },
  { from: "TMF630", filter: "a.eq=1", events: ['{"a":1}', '{"a":{"eq":1}}'] },
  { from: "TMF630", filter: "a.ne=1", events: ['{"a":2}', '{"a":1}'] },
  { from: "TMF630", filter: "a==1", events: ['{"a":1}', '{"a":"=1"}'] },
  {
    from: "TMF630",
    filter: "at.gt=2013-04-20",
    events: ['{"at":"2013-04-20T00:00:01Z"}', '{"at":"2013-04-19T23:59:59Z"}'],
  },
  { from: "TMF630", filter: "a.gte=1&a.lt=5", events: ['{"a":1}', '{"a":5}'] },
  { from: "EventBridge", filter: "a.exists=true", events: ['{"a":1}', '{"a":{"exists":true}, "a":null}'] },
  { from: "EventBridge", filter: "name.prefix=Al", events: alpha },
  { from: "EventBridge", filter: "name.suffix=pha", events: alpha },
  { from: "others", filter: "name.startswith=Al", events: alpha },
  { from: "others", filter: "name.endswith=pha", events: alpha },
  { from: "others", filter: "name.contains=lph", events: alpha },
  { from: "others", filter: "name.like=Al*", events: alpha },
  { from: "others", filter: "name.eqi=ALPHA", events: alpha },
  {
    from: "others",
    filter: "iccid=89860012345678901234",
    events: ['{"iccid":89860012345678901234}', '{"iccid":89860012345678901235}'],
  },
  { from: "others", filter: "amount=10.0", events: ['{"amount":10}', '{"amount":"10"}'] },
  { from: "others", filter: "amount=1e3", events: ['{"amount":1000}', '{"amount":"1000"}'] },
];

const rejected: readonly Rejected[] = [
  { from: "TMF630", filter: "a=1;a=2", says: /write "&" for AND, "," for OR/ },
  { from: "TMF630", filter: "$.a[?(@.b==1)]=1", says: /begin with "\$"/ },
  { from: "TMF630", filter: "a[0].b=1", says: /leave the index out/ },
  { from: "TMF630", filter: "filter=a=1", says: /second "="/ },
  { from: "EventBridge", filter: '{"a":["x"]}', says: /not as JSON/ },
  { from: "EventBridge", filter: 'a=["x","y"]', says: /without brackets, as in a=1,2/ },
  { from: "EventBridge", filter: 'a={"prefix":"x"}', says: /without brackets/ },
  { from: "EventBridge", filter: "a.anything-but=x", says: /write !=/ },
  { from: "EventBridge", filter: "a.equals-ignore-case=x", says: /write \.eqi=/ },
  { from: "EventBridge", filter: "a.wildcard=A*", says: /write \.like=/ },
  { from: "EventBridge", filter: "a.cidr=10.0.0.0/24", says: /write \.prefix=/ },
  { from: "Knative", filter: "a.exact=x", says: /write = / },
  { from: "Knative", filter: "type LIKE 'com.%'", says: /write \.like=/ },
  { from: "Knative", filter: "EXISTS a", says: /write \.exists=true/ },
  { from: "Knative", filter: "NOT a=1", says: /a!=1/ },
  { from: "Knative", filter: "type IN ('a','b')", says: /write =, with commas/ },
  { from: "Knative", filter: "a='x'", says: /quotation marks; leave them out/ },
  { from: "Knative", filter: "a<>1", says: /the operators are = !=/ },
  { from: "Knative", filter: "a=1 AND b=2", says: /"&" between conditions/ },
  { from: "ServiceNow", filter: "a=1^b=2", says: /"&" between conditions/ },
  { from: "ServiceNow", filter: "a=1^EQ", says: /"&" between conditions/ },
  { from: "ServiceNow", filter: "aIN1,2", says: /write =, with commas/ },
  { from: "ServiceNow", filter: "aNOT IN1,2", says: /write !=/ },
  { from: "ServiceNow", filter: "aSTARTSWITHx", says: /write \.prefix=/ },
  { from: "ServiceNow", filter: "aENDSWITHx", says: /write \.suffix=/ },
  { from: "ServiceNow", filter: "aLIKEx", says: /write \.like= or \.contains=/ },
  { from: "ServiceNow", filter: "aISEMPTY", says: /write \.exists=true or \.exists=false/ },
  { from: "ServiceNow", filter: "aBETWEEN1@5", says: /write a>=1&a<=5/ },
  { from: "others", filter: "name=Al*", says: /write \.like=/ },
  { from: "others", filter: "!a=1", says: /a!=1/ },
  { from: "others", filter: "(a=1)", says: /no parentheses/ },
  { from: "others", filter: "a.between=1,5", says: /write a\.gte=1&a\.lte=5/ },
  { from: "others", filter: "a.isnull=true", says: /write \.exists=true or \.exists=false/ },
  { from: "others", filter: "a eq 'x'", says: /write =/ },
  { from: "others", filter: "a.$gt=5", says: /"\$" in a name/ },
  { from: "others", filter: "a>5<10", says: /write two conditions, as in a>1&a<5/ },
  { from: "others", filter: "a!~x", says: /write \.like= or \.regex=/ },
  { from: "others", filter: "a=null", says: /write \.exists=false .* or \.eq=null for the text/ },
  { from: "others", filter: "severity == Critical AND x", says: /write "&" for AND/ },
  { from: "others", filter: "a>now-1h", says: /has no clock; write a time/ },
  { from: "others", filter: "a=${SEVERITY}", says: /placeholder that was not replaced/ },
  { from: "others", filter: "a.prefix=x*", says: /write \.like= for wildcards, or write "%2A"/ },
  { from: "others", filter: "at>=2013-04-20 10:00", says: /write it like 2026-01-31T10:00:00Z/ },
];

describe("filters as other systems write them", () => {
  for (const { from, filter, events } of understood) {
    it(`${from}: ${filter} means the same`, () => {
      const conditions = readFilters({ headerQuery: filter });
      assert.deepEqual(
        events.map((event) => matches(conditions, parseEvent(event))),
        [true, false],
      );
    });
  }
  for (const { from, filter, says } of rejected) {
    it(`${from}: ${filter} is rejected, with what to write`, () => {
      assert.throws(
        () => parseFilter(filter),
        (error: unknown) => error instanceof FilterSyntaxError && says.test(error.message),
      );
    });
  }
});
