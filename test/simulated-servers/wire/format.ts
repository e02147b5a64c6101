/**
 * The types of Kafka's wire protocol, read and written by the same description (Kafka's documentation,
 * "Protocol").
 */

export class Reader {
  readonly buffer: Buffer;
  at = 0;

  constructor(buffer: Buffer) {
    this.buffer = buffer;
  }

  /** Moves over bytes; returns where they begin. */
  take(bytes: number): number {
    const from = this.at;
    this.at += bytes;
    if (bytes < 0 || this.at > this.buffer.length) throw new RangeError("a message ends too early");
    return from;
  }
}

export class Writer {
  #buffer = Buffer.allocUnsafe(512);
  #at = 0;

  get buffer(): Buffer {
    return this.#buffer;
  }

  /** Makes room for bytes; returns where they begin. */
  take(bytes: number): number {
    const from = this.#at;
    this.#at += bytes;
    if (this.#at > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#at, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, from);
      this.#buffer = larger;
    }
    return from;
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }
}

export interface Type<T> {
  readonly read: (reader: Reader) => T;
  readonly write: (writer: Writer, value: T) => void;
}

/** Any type. */
interface SomeType {
  readonly read: (reader: Reader) => unknown;
  readonly write: (writer: Writer, value: never) => void;
}

export type Value<T extends SomeType> = ReturnType<T["read"]>;

export const int8: Type<number> = {
  read: (reader) => reader.buffer.readInt8(reader.take(1)),
  write(writer, value) {
    const at = writer.take(1);
    writer.buffer.writeInt8(value, at);
  },
};

export const int16: Type<number> = {
  read: (reader) => reader.buffer.readInt16BE(reader.take(2)),
  write(writer, value) {
    const at = writer.take(2);
    writer.buffer.writeInt16BE(value, at);
  },
};

export const int32: Type<number> = {
  read: (reader) => reader.buffer.readInt32BE(reader.take(4)),
  write(writer, value) {
    const at = writer.take(4);
    writer.buffer.writeInt32BE(value, at);
  },
};

/** As a number: a simulation's offsets and times are small. */
export const int64: Type<number> = {
  read: (reader) => Number(reader.buffer.readBigInt64BE(reader.take(8))),
  write(writer, value) {
    const at = writer.take(8);
    writer.buffer.writeBigInt64BE(BigInt(value), at);
  },
};

export const boolean: Type<boolean> = {
  read: (reader) => int8.read(reader) !== 0,
  write(writer, value) {
    int8.write(writer, value ? 1 : 0);
  },
};

/** The number of bytes or items before them; -1 for null. */
type Length = Type<number>;

export const unsignedVarint: Type<number> = {
  read(reader) {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = reader.buffer.readUInt8(reader.take(1));
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  },
  write(writer, value) {
    let left = value;
    for (; left >= 0x80; left = Math.floor(left / 0x80)) {
      const at = writer.take(1);
      writer.buffer[at] = (left % 0x80) | 0x80;
    }
    const at = writer.take(1);
    writer.buffer[at] = left;
  },
};

const compactLength: Length = {
  read: (reader) => unsignedVarint.read(reader) - 1,
  write(writer, value) {
    unsignedVarint.write(writer, value + 1);
  },
};

const stringWith = (length: Length): Type<string | null> => ({
  read(reader) {
    const bytes = length.read(reader);
    if (bytes < 0) return null;
    const from = reader.take(bytes);
    return reader.buffer.toString("utf8", from, from + bytes);
  },
  write(writer, value) {
    if (value === null) {
      length.write(writer, -1);
      return;
    }
    const bytes = Buffer.byteLength(value);
    length.write(writer, bytes);
    const at = writer.take(bytes);
    writer.buffer.write(value, at);
  },
});

const bytesWith = (length: Length): Type<Buffer | null> => ({
  read(reader) {
    const count = length.read(reader);
    if (count < 0) return null;
    const from = reader.take(count);
    return reader.buffer.subarray(from, from + count);
  },
  write(writer, value) {
    length.write(writer, value === null ? -1 : value.length);
    if (value === null) return;
    const at = writer.take(value.length);
    value.copy(writer.buffer, at);
  },
});

const listWith =
  (length: Length) =>
  <T>(item: Type<T>): Type<readonly T[] | null> => ({
    read(reader) {
      const count = length.read(reader);
      if (count < 0) return null;
      const items: T[] = [];
      for (let index = 0; index < count; index += 1) items.push(item.read(reader));
      return items;
    },
    write(writer, items) {
      length.write(writer, items === null ? -1 : items.length);
      for (const one of items ?? []) item.write(writer, one);
    },
  });

/** The same type without null. */
const required = <T>(type: Type<T | null>): Type<T> => ({
  read(reader) {
    const value = type.read(reader);
    if (value === null) throw new RangeError("a required field is null");
    return value;
  },
  write: type.write,
});

export const nullableString = stringWith(int16);
export const string = required(nullableString);
export const bytes = required(bytesWith(int32));
export const nullableList = listWith(int32);
export const list = <T>(item: Type<T>): Type<readonly T[]> => required(nullableList(item));

export const nullableCompactString = stringWith(compactLength);
export const compactString = required(nullableCompactString);
export const compactBytes = required(bytesWith(compactLength));
export const nullableCompactList = listWith(compactLength);
export const compactList = <T>(item: Type<T>): Type<readonly T[]> => required(nullableCompactList(item));

/** As Kafka's tools print it: 22 characters of URL-safe Base64. */
export const uuid: Type<string> = {
  read(reader) {
    const from = reader.take(16);
    return reader.buffer.toString("base64url", from, from + 16);
  },
  write(writer, value) {
    const at = writer.take(16);
    writer.buffer.write(value, at, 16, "base64url");
  },
};

export const noUuid = "A".repeat(22);

export type Fields = Readonly<Record<string, SomeType>>;
export type Struct<F extends Fields> = { readonly [Name in keyof F]: Value<F[Name]> };

export function struct<F extends Fields>(fields: F): Type<Struct<F>> {
  const entries = Object.entries(fields) as [keyof F & string, Type<unknown>][];
  return {
    read: (reader) =>
      Object.fromEntries(entries.map(([name, type]) => [name, type.read(reader)])) as Struct<F>,
    write(writer, value) {
      for (const [name, type] of entries) type.write(writer, value[name]);
    },
  };
}

/**
 * A structure of a flexible version, which ends with its tagged fields. None are written, and those that are
 * read are skipped.
 */
export function tagged<F extends Fields>(fields: F): Type<Struct<F>> {
  const { read, write } = struct(fields);
  return {
    read(reader) {
      const value = read(reader);
      skipTags(reader);
      return value;
    },
    write(writer, value) {
      write(writer, value);
      unsignedVarint.write(writer, 0);
    },
  };
}

export function skipTags(reader: Reader): void {
  for (let left = unsignedVarint.read(reader); left > 0; left -= 1) {
    unsignedVarint.read(reader);
    reader.take(unsignedVarint.read(reader));
  }
}
