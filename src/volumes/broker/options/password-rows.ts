import type { OptionType } from '../../options/option-type.ts';
import type { SecretReference } from '../../signature/secret-reference.ts';
import { isSecretPath, parseSecretReference } from '../../signature/secret-reference.ts';
import type { OptionRow } from './option-table.ts';

/** Where the secrets are that users may name in place of a password: `name` is the prefix of all of them. */
export type SecretPrefix = SecretReference;

/** What of the row differs between offerings. */
type PasswordNeeds = Pick<OptionRow, 'type' | 'needs' | 'neededAt'>;

/**
 * The rows of a password: as a text, and where the operator has a place for secrets also by its name there.
 */
export function passwordRows(
  secrets: SecretPrefix | undefined,
  { type, ...needs }: PasswordNeeds,
): readonly OptionRow[] {
  const common = { places: ['provision', 'bind'], mountOption: 'password', ...needs } as const;
  const password: OptionRow = {
    ...common,
    name: 'password',
    type: exceptReferences(type),
    isSecret: true,
    description: 'password of that user',
  };
  if (secrets === undefined) return [password];
  const reference: OptionRow = {
    ...common,
    name: 'password_ref',
    type: secretPath,
    prefix: `((${secrets.store}:${secrets.name}/`,
    suffix: '))',
    isInSpace: true,
    description:
      'in place of password: the name of a secret of the space, which the cell reads at each mount',
  };
  return [password, reference];
}

function exceptReferences(type: OptionType): OptionType {
  return {
    ...type,
    parse: (value) =>
      typeof value === 'string' && parseSecretReference(value) !== undefined
        ? { fault: 'must not have the form of a reference to a secret, ((store:/name)); see password_ref' }
        : type.parse(value),
  };
}

const longestPath = 200;
const secretPath: OptionType = {
  parse: (value) =>
    typeof value === 'string' && value.length <= longestPath && isSecretPath(value)
      ? { value }
      : {
          fault: `must be parts of letters, digits, dots, dashes and underscores between slashes, none with a dot first, of at most ${longestPath} characters`,
        },
  schema: { type: 'string', minLength: 1, maxLength: longestPath },
};
