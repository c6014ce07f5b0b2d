import { badRequest } from '../errors/status-errors.ts';
import { limitTerms } from './limit-terms.ts';

/** The requirement `field=value` or `field!=value`. */
export interface FieldRequirement {
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
