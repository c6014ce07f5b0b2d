import type { OptionType } from '../../options/option-type.ts';
import type { SecretReference } from '../../signature/secret-reference.ts';
import { isSecretPath, parseSecretReference } from '../../signature/secret-reference.ts';
import type { OptionDefinition } from './option-table.ts';

/** Where the secrets are that users may name in place of a password: `name` is the prefix of all of them. */
export type SecretPrefix = SecretReference;

/** What of the row differs between offerings. */
type PasswordOptionSettings = Pick<OptionDefinition, 'type' | 'requires' | 'requiredAt'>;

/**
 * The rows of a password: as a text, and where the operator has a place for secrets also by its name there.
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
        ? { fault: 'must not have the form of a reference to a secret, ((store:/name)); see password_ref' }
        : type.parse(value),
  };
}

const maxPathLength = 200;
const secretPath: OptionType = {
  parse: (value) =>
    typeof value === 'string' && value.length <= maxPathLength && isSecretPath(value)
      ? { value }
      : {
          fault: `must be parts of letters, digits, dots, dashes and underscores between slashes, none with a dot first, of at most ${maxPathLength} characters`,
        },
  schema: { type: 'string', minLength: 1, maxLength: maxPathLength },
};
