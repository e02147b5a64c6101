import { createRandom, type Random } from "../../test/support/random.ts";
import { createWord } from "./pattern-workload.ts";

/**
 * The records and the rules of Event Ruler's own benchmarks (Benchmarks.java): lots of a city, of about 900
 * bytes, and the kinds of rules there. Its file of 213,068 lots is not needed: the lots are made up, 24 to a
 * block and 12 to a street, and as many as there are topics, so that as many topics match an event, however
 * many there are. One sixth of the topics each have a prefix, a suffix, a text in any case, a wildcard,
 * `exists` and a range.
 */
export function createLotWorkload() {
  return {
    *topics(from: number, to: number) {
      for (let number = from; number < to; number += 1)
        yield { id: `topic${number}`, filters: { headerQuery: createRule(number).headerQuery } };
    },
    *rules(from: number, to: number) {
      for (let number = from; number < to; number += 1)
        yield { id: `topic${number}`, rule: JSON.stringify(createRule(number).rule) };
    },
    events(count: number, topics: number) {
      const random = createRandom(1);
      return Array.from({ length: count }, () => createLot(random.between(0, topics - 1), random));
    },
  };
}

const lotsPerBlock = 24;
const lotsPerStreet = 12;
const streetLength = 8;
/** Degrees, in whole units so that they print exactly. */
const unitsPerDegree = 1e6;
const west = -122.6 * unitsPerDegree;
const unitsPerLot = 10;

const createStreet = (lot: number): string => {
  const street = Math.trunc(lot / lotsPerStreet);
  return createWord(createRandom(Math.imul(street + 1, 0x9e3779b1)), streetLength).toUpperCase();
};
const createDistrict = (lot: number): string => `DISTRICT_${Math.trunc(lot / lotsPerStreet)}`;
const toDegrees = (lot: number): number => (west + lot * unitsPerLot) / unitsPerDegree;

/** One condition in both languages, which lot `number` satisfies. */
function createRule(number: number): { headerQuery: string; rule: unknown } {
  const street = createStreet(number);
  const ofStreet = (suffix: string, value: string, operator: string) => ({
    headerQuery: `properties.STREET.${suffix}=${value}`,
    rule: { properties: { STREET: [{ [operator]: value }] } },
  });
  switch (number % 6) {
    case 0:
      return ofStreet("prefix", street.slice(0, 6), "prefix");
    case 1:
      return ofStreet("suffix", street.slice(-6), "suffix");
    case 2:
      return ofStreet("eqi", street.slice(0, 4) + street.slice(4).toLowerCase(), "equals-ignore-case");
    case 3:
      return ofStreet("like", createWildcard(street, Math.trunc(number / 6)), "wildcard");
    case 4: {
      const district = createDistrict(number);
      return {
        headerQuery: `properties.${district}.exists=true`,
        rule: { properties: { [district]: [{ exists: true }] } },
      };
    }
    default: {
      const [west, east] = [toDegrees(number), toDegrees(number + lotsPerStreet)];
      const path = "geometry.firstCoordinates.x";
      return {
        headerQuery: `${path}>=${west}&${path}<${east}`,
        rule: { geometry: { firstCoordinates: { x: [{ numeric: [">=", west, "<", east] }] } } },
      };
    }
  }
}

/** `143*`, `2*0*1*7`, `*218`, `3*5*2` and `VA*IL` there; `*a*b*` as well. */
function createWildcard(street: string, number: number): string {
  const cut = (...parts: readonly (readonly [number, number])[]): string =>
    parts.map(([from, to]) => street.slice(from, to)).join("*");
  const none = [0, 0] as const;
  switch (number % 6) {
    case 0:
      return cut([0, 4], none);
    case 1:
      return cut([0, 1], [2, 4], [5, 6], [7, 8]);
    case 2:
      return cut(none, [4, 8]);
    case 3:
      return cut([0, 2], [3, 5], [6, 8]);
    case 4:
      return cut([0, 2], [6, 8]);
    default:
      return cut(none, [1, 3], [5, 7], none);
  }
}

function createLot(number: number, random: Random): string {
  const block = String(1 + Math.trunc(number / lotsPerBlock)).padStart(4, "0");
  const lot = String(1 + (number % lotsPerBlock)).padStart(3, "0");
  const house = String(random.between(1, 3_000));
  const coordinates = Array.from({ length: random.between(6, 16) }, (_, at) => ({
    x: toDegrees(number) + (at * random.between(1, 9_999)) / 1e10,
    y: 37.7 + random.between(0, 99_999_999) / 1e9,
    z: 0,
  }));
  return JSON.stringify({
    type: "Feature",
    properties: {
      MAPBLKLOT: block + lot,
      BLKLOT: block + lot,
      BLOCK_NUM: block,
      LOT_NUM: lot,
      FROM_ST: house,
      TO_ST: house,
      STREET: createStreet(number),
      ST_TYPE: random.pick(["ST", "AVE", "WAY", null]),
      ODD_EVEN: random.pick(["O", "E"]),
      [createDistrict(number)]: "yes",
    },
    geometry: { type: "Polygon", coordinates, firstCoordinates: coordinates[0] },
  });
}
