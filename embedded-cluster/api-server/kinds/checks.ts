import { invalidValue, tooLong, type Cause, unsupportedValue } from '../errors/field-causes.ts';

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const qualified = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const isLabel = new RegExp(`^${label}$`);
const isSubdomain = new RegExp(`^${subdomain}$`);
const isQualified = new RegExp(`^${qualified}$`);

const labelText = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;
const subdomainText = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`;
const qualifiedText = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${qualified}')`;
const valueText = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${qualified})?')`;

const annotationBytes = 256 * 1024;

/** `segment` allows every name that can be part of a URL path, such as names of roles (system:basic-user). */
export type NameRule = 'label' | 'subdomain' | 'segment';

const nameRules = {
  label: { pattern: isLabel, text: labelText, maximum: 63 },
  subdomain: { pattern: isSubdomain, text: subdomainText, maximum: 253 },
} as const satisfies Record<Exclude<NameRule, 'segment'>, unknown>;

/**
 * Returns the causes for a name that is not a DNS-1123 label (63 characters) or subdomain (253); apimachinery
 * pkg/util/validation.
 */
export function checkName(field: string, name: string, rule: NameRule): Cause[] {
  if (rule === 'segment') return checkSegment(field, name);
  const { pattern, text, maximum } = nameRules[rule];
  return [
    ...(pattern.test(name) ? [] : [invalidValue(field, name, text)]),
    ...(name.length > maximum ? [invalidValue(field, name, `must be no more than ${maximum} bytes`)] : []),
  ];
}

/** apimachinery pkg/api/validation/path IsValidPathSegmentName. */
function checkSegment(field: string, name: string): Cause[] {
  if (name === '.' || name === '..') return [invalidValue(field, name, `may not be '${name}'`)];
  return ['/', '%']
    .filter((part) => name.includes(part))
    .map((part) => invalidValue(field, name, `may not contain '${part}'`));
}

/**
 * Returns the causes for the key of a label, annotation or taint, or a finalizer: an optional DNS prefix with
 * a slash, and a name.
 */
export function checkQualifiedName(field: string, key: string): Cause[] {
  const parts = key.split('/');
  const name = parts.at(-1) ?? '';
  const prefix = parts.length > 1 ? parts[0] : undefined;
  if (parts.length > 2) return [invalidValue(field, key, `a qualified name ${qualifiedText.slice(10)}`)];
  return [
    ...(prefix === undefined || isSubdomain.test(prefix)
      ? []
      : [invalidValue(field, key, `prefix part ${subdomainText}`)]),
    ...(name === '' ? [invalidValue(field, key, 'name part must be non-empty')] : []),
    ...(name.length > 63 ? [invalidValue(field, key, 'name part must be no more than 63 bytes')] : []),
    ...(name === '' || isQualified.test(name) ? [] : [invalidValue(field, key, qualifiedText)]),
  ];
}

export function checkLabels(field: string, labels: Readonly<Record<string, string>> | undefined): Cause[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...checkQualifiedName(field, key),
    ...(value.length > 63 ? [invalidValue(field, value, 'must be no more than 63 bytes')] : []),
    ...(value === '' || isQualified.test(value) ? [] : [invalidValue(field, value, valueText)]),
  ]);
}

export function checkAnnotations(
  field: string,
  annotations: Readonly<Record<string, string>> | undefined,
): Cause[] {
  const entries = Object.entries(annotations ?? {});
  const bytes = entries.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  return [
    // Keys of annotations may have upper case.
    ...entries.flatMap(([key]) => checkQualifiedName(field, key.toLowerCase())),
    ...(bytes > annotationBytes ? [tooLong(field, annotationBytes)] : []),
  ];
}

/** Returns the indexes of the values that are already in the list at a lower index. */
export function duplicateIndexes(values: readonly unknown[]): ReadonlySet<number> {
  const seen = new Set<unknown>();
  const repeated = new Set<number>();
  values.forEach((value, index) => {
    if (seen.has(value)) repeated.add(index);
    seen.add(value);
  });
  return repeated;
}

/** Returns a cause if the value is set and is not one of `supported`. */
export function checkEnum(field: string, value: string | undefined, supported: readonly string[]): Cause[] {
  return value === undefined || supported.includes(value) ? [] : [unsupportedValue(field, value, supported)];
}
