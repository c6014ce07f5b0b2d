import type { OptionType } from '../../options/option-types.ts';
import type { SecretReference } from '../../signature/secret-reference.ts';
import { isSecretPath, parseSecretReference } from '../../signature/secret-reference.ts';
import type { OptionDefinition } from './option-table.ts';

/**
 * The store of the secrets that users may name instead of a password. `name` is the prefix of all their
 * names.
 */
export type SecretPrefix = SecretReference;

/** The settings that differ between offerings. */
type PasswordOptionSettings = Pick<OptionDefinition, 'type' | 'requires' | 'requiredAt'>;

/**
 * Returns the options for a password: `password`, and if the operator has a store for secrets,
 * `password_ref`.
 */
export function passwordOptions(
  secrets: SecretPrefix | undefined,
  { type, ...requirements }: PasswordOptionSettings,
): readonly OptionDefinition[] {
  const common = { scopes: ['provision', 'bind'], mountConfigKey: 'password', ...requirements } as const;
  const password: OptionDefinition = {
    ...common,
    name: 'password',
    type: rejectReferences(type),
    isSecret: true,
    description: 'password of that user',
  };
  if (secrets === undefined) return [password];
  const reference: OptionDefinition = {
    ...common,
    name: 'password_ref',
    type: secretPath,
    prefix: `((${secrets.store}:${secrets.name}/`,
    suffix: '))',
    isSpaceScoped: true,
    description:
      'in place of password: the name of a secret of the space, which the cell reads at each mount',
  };
  return [password, reference];
}

function rejectReferences(type: OptionType): OptionType {
  return {
    ...type,
    parse: (value) =>
      typeof value === 'string' && parseSecretReference(value) !== undefined
        ? { problem: 'must not have the form of a reference to a secret, ((store:/name)); see password_ref' }
        : type.parse(value),
  };
}

const maxPathLength = 200;
const secretPath: OptionType = {
  parse: (value) =>
    typeof value === 'string' && value.length <= maxPathLength && isSecretPath(value)
      ? { value }
      : {
          problem: `must be parts of letters, digits, dots, dashes and underscores between slashes, none with a dot first, of at most ${maxPathLength} characters`,
        },
  schema: { type: 'string', minLength: 1, maxLength: maxPathLength },
};
