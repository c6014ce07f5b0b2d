import { badRequest } from '../errors/status-errors.ts';

/** The requirement `field=value` or `field!=value`. */
interface FieldRequirement {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/**
 * Parses `metadata.name=a,status.phase!=Running` (apimachinery pkg/fields/selector.go; `\,` `\=` `\\` are
 * escapes). Throws ApiError 400 if it cannot be parsed or has too many terms.
 */
export function parseFieldSelector(selector: string): readonly FieldRequirement[] {
  limitTerms(selector);
  return selector
    .split(/(?<!\\),/)
    .filter((part) => part !== '')
    .map((part) => {
      const [, field, operator, value] =
        /^((?:\\.|[^\\=!])+?)(!=|==|=)((?:\\[\\,=]|[^\\,=])*)$/.exec(part) ?? [];
      if (field === undefined || value === undefined) {
        throw badRequest(`invalid selector: '${selector}'; can't understand '${part}'`);
      }
      return { field, equal: operator !== '!=', value: value.replaceAll(/\\(.)/g, '$1') };
    });
}

/** Returns true if the selectable fields of an object meet every requirement. */
export function matchesFields(
  requirements: readonly FieldRequirement[],
  fields: Readonly<Record<string, string>>,
): boolean {
  return requirements.every(({ field, equal, value }) => ((fields[field] ?? '') === value) === equal);
}

/**
 * Throws ApiError 400 for a field that the kind does not support in selectors. `convertsLabels` is true for
 * kinds with a field label conversion of their own, whose error text differs (apimachinery pkg/runtime,
 * DefaultMetaV1FieldSelectorConversion).
 */
export function assertSelectable(
  requirements: readonly FieldRequirement[],
  known: Readonly<Record<string, string>>,
  convertsLabels: boolean,
): void {
  for (const { field } of requirements) {
    if (Object.hasOwn(known, field)) continue;
    throw badRequest(
      convertsLabels
        ? `field label not supported: ${field}`
        : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
}

/** One comma-separated requirement of a label selector. */
interface LabelRequirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  readonly values: readonly string[];
}

const keyPattern = '[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?';
const setBased = new RegExp(`^(${keyPattern})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const equality = new RegExp(`^(${keyPattern})\\s*(==|=|!=|>|<)\\s*([A-Za-z0-9._-]*)$`);
const existence = new RegExp(`^(!?)\\s*(${keyPattern})$`);

/**
 * Parses `a=b,c!=d,e in (f,g),!h` (apimachinery pkg/labels/selector.go). An empty text selects everything.
 * Throws ApiError 400 if it cannot be parsed or has too many terms.
 */
export function parseLabelSelector(selector: string): readonly LabelRequirement[] {
  limitTerms(selector);
  return splitRequirements(selector)
    .map((part) => part.trim())
    .filter((part, _, all) => part !== '' || all.length > 1)
    .map((part) => parseRequirement(part, selector));
}

/** Returns true if the labels meet every requirement. */
export function matchesLabels(
  requirements: readonly LabelRequirement[],
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return requirements.every((requirement) => {
    const value =
      labels !== undefined && Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
    return matchesRequirement(requirement, value);
  });
}

function matchesRequirement({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'gt':
      return value !== undefined && /^-?\d+$/.test(value) && Number(value) > Number(values[0]);
    case 'lt':
      return value !== undefined && /^-?\d+$/.test(value) && Number(value) < Number(values[0]);
  }
}

function parseRequirement(part: string, whole: string): LabelRequirement {
  const [, setKey, setOperator, list] = setBased.exec(part) ?? [];
  if (setKey !== undefined && list !== undefined) {
    const values = list.split(',').map((value) => value.trim());
    return { key: setKey, operator: setOperator === 'in' ? 'in' : 'notin', values };
  }
  const [, key, sign, value] = equality.exec(part) ?? [];
  if (key !== undefined && value !== undefined) return parseComparison(key, sign, value, whole);
  const [, negation, lone] = existence.exec(part) ?? [];
  if (lone !== undefined) return { key: lone, operator: negation === '!' ? 'absent' : 'exists', values: [] };
  throw parseError(whole, part);
}

function parseComparison(
  key: string,
  sign: string | undefined,
  value: string,
  whole: string,
): LabelRequirement {
  if (sign === '=' || sign === '==') return { key, operator: 'in', values: [value] };
  if (sign === '!=') return { key, operator: 'notin', values: [value] };
  if (!/^-?\d+$/.test(value)) throw parseError(whole, value);
  return { key, operator: sign === '>' ? 'gt' : 'lt', values: [value] };
}

function parseError(whole: string, part: string): Error {
  return badRequest(
    `unable to parse requirement: ${JSON.stringify(part)} of the label selector ${JSON.stringify(whole)}`,
  );
}

/** Splits in one pass: a regular expression that looks ahead for the bracket from each comma is quadratic. */
function splitRequirements(selector: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let isInside = false;
  for (let at = 0; at < selector.length; at += 1) {
    const character = selector[at];
    if (character === '(') isInside = true;
    else if (character === ')') isInside = false;
    else if (character === ',' && !isInside) {
      parts.push(selector.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, selector.slice(start)];
}

const maximumTerms = 200;

/**
 * Throws ApiError 400 for a selector with more requirements and values than a server can compare with every
 * object.
 */
function limitTerms(selector: string): void {
  let terms = 1;
  for (let at = selector.indexOf(','); at !== -1; at = selector.indexOf(',', at + 1)) terms += 1;
  if (terms <= maximumTerms) return;
  throw badRequest(
    `the selector has ${terms} requirements and values; it may have ${maximumTerms}: select more, and leave out the rest at the client`,
  );
}
