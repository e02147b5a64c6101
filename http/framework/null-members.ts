type Schema = Readonly<Record<string, unknown>>;

/**
 * Removes the members with null that may be missing: many clients are generated, and write every absent
 * member as null. Where null has a meaning of its own, the schema allows it. Changes `value`.
 */
export function removeNullMembers(value: unknown, schema: unknown): void {
  if (typeof value !== "object" || value === null || !isSchema(schema)) return;
  if (Array.isArray(value)) for (const item of value) removeNullMembers(item, schema["items"]);
  else for (const [name, member] of Object.entries(value)) removeNull(value, { name, member, schema });
}

function removeNull(
  object: object,
  { name, member, schema }: { readonly name: string; readonly member: unknown; readonly schema: Schema },
): void {
  const { properties, required, additionalProperties } = schema;
  const known = isSchema(properties) && Object.hasOwn(properties, name);
  const ofMember: unknown = known ? Reflect.get(properties, name) : additionalProperties;
  if (member !== null) removeNullMembers(member, ofMember);
  else if (known && !(Array.isArray(required) && required.includes(name)) && !allowsNull(ofMember))
    Reflect.deleteProperty(object, name);
}

/** The schema with null where `removeNullMembers` removes it, to be published. */
export function permitNulls<T>(schema: T): T {
  if (!isSchema(schema)) return schema;
  const { properties, required, items, additionalProperties } = schema;
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  const permit = ([name, member]: [string, unknown]): [string, unknown] => {
    const permitted = permitNulls(member);
    if (isRequired(name) || allowsNull(member) || !isSchema(permitted)) return [name, permitted];
    const { type, enum: values } = permitted;
    return typeof type === "string" && values === undefined
      ? [name, { ...permitted, type: [type, "null"] }]
      : [name, { anyOf: [permitted, { type: "null" }] }];
  };
  return {
    ...schema,
    ...(isSchema(properties) && { properties: Object.fromEntries(Object.entries(properties).map(permit)) }),
    ...(items !== undefined && { items: permitNulls(items) }),
    ...(additionalProperties !== undefined && { additionalProperties: permitNulls(additionalProperties) }),
  };
}

/** Whether a schema says something about null. */
export function allowsNull(schema: unknown): boolean {
  if (!isSchema(schema)) return false;
  const { type, enum: values, anyOf, oneOf } = schema;
  const alternatives = [anyOf, oneOf].find(Array.isArray);
  if (alternatives !== undefined) return alternatives.some(allowsNull);
  if (Array.isArray(values)) return values.includes(null);
  return type === undefined || type === "null" || (Array.isArray(type) && type.includes("null"));
}

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null;
