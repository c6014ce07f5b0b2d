import { nfsOptions, type SecretPrefix, smbOptions } from './user-options.ts';
import type { OperatorOptions, OptionScope, OptionTable } from './option-table.ts';

/** The operator's settings of an offering. */
export type OfferingSettings = Pick<Offering, 'operator' | 'allowedShares' | 'maintenance'>;

/** A service with its only plan, as Cloud Controller knows it. */
export interface Offering {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly plan: { readonly id: string; readonly name: string; readonly description: string };
  /** The protocol of its file servers. */
  readonly protocol: 'nfs' | 'smb';
  /** The name of the volume driver on the cells, which is the name of its spec file. */
  readonly driver: string;
  readonly table: OptionTable;
  readonly operator: OperatorOptions;
  /** Absent means that all shares are allowed. */
  readonly allowedShares?: readonly AllowedShare[] | undefined;
  /** The maintenance_info of the plan (OSBAPI 2.17), if the operator sets one. */
  readonly maintenance?: { readonly version: string; readonly description?: string } | undefined;
}

/** The settings for the users of the file server. */
interface NfsUserMapping {
  /** If true, users give username and password instead of uid and gid. */
  readonly ldap: boolean;
  /** The store and prefix of the secrets that users may name as passwords. */
  readonly secrets?: SecretPrefix | undefined;
}

/** Returns the offering of nfsbroker. */
export function nfsOffering({ ldap, secrets, ...settings }: OfferingSettings & NfsUserMapping): Offering {
  return {
    id: '997f8f26-e10c-11e7-80c1-9a214cf093ae',
    name: 'nfs',
    description: 'Existing NFSv3 and v4 volumes',
    tags: ['nfs'],
    plan: {
      id: '09a09260-1df5-4445-9ed7-1ba56dadbbc8',
      name: 'Existing',
      description: 'A preexisting filesystem',
    },
    protocol: 'nfs',
    driver: 'nfsv3driver',
    table: nfsOptions(ldap, secrets),
    ...settings,
  };
}

/**
 * Returns the offering of smbbroker. `secrets` is the store and prefix of the secrets that users may name as
 * passwords.
 */
export function smbOffering({
  secrets,
  ...settings
}: OfferingSettings & { readonly secrets?: SecretPrefix | undefined }): Offering {
  return {
    id: '9db9cca4-8fd5-4b96-a4c7-0a48f47c3bad',
    name: 'smb',
    description: 'Existing SMB shares',
    tags: ['smb'],
    plan: {
      id: '0da18102-48dc-46d0-98b3-7a4ff6dc9c54',
      name: 'Existing',
      description: 'A preexisting filesystem',
    },
    protocol: 'smb',
    driver: 'smbdriver',
    table: smbOptions(secrets),
    ...settings,
  };
}

/** Returns the body of GET /v2/catalog (OSBAPI 2.17, Catalog Management). */
export function buildCatalog(offerings: readonly Offering[]): object {
  return {
    services: offerings.map(({ id, name, description, tags, plan, table, maintenance }) => ({
      id,
      name,
      description,
      tags,
      requires: ['volume_mount'],
      bindable: true,
      plan_updateable: false,
      instances_retrievable: true,
      bindings_retrievable: true,
      metadata: { shareable: true },
      plans: [
        {
          ...plan,
          free: true,
          ...(maintenance === undefined ? {} : { maintenance_info: maintenance }),
          schemas: {
            service_instance: {
              create: { parameters: parameterSchema(table, 'provision', true) },
              update: { parameters: parameterSchema(table, 'provision', false) },
            },
            service_binding: { create: { parameters: parameterSchema(table, 'bind', false) } },
          },
        },
      ],
    })),
  };
}

/**
 * Returns the JSON schema of the parameters that a user may give in a scope. `isWhole` adds the required
 * ones.
 */
function parameterSchema(table: OptionTable, scope: OptionScope, isWhole: boolean): object {
  const rows = table.filter(({ scopes }) => scopes.includes(scope));
  const needed = rows.filter(({ requiredAt }) => isWhole && requiredAt === scope).map(({ name }) => name);
  const properties = rows.flatMap(({ name, alias, type, description }) =>
    [name, ...(alias === undefined ? [] : [alias])].map((key) => [key, { ...type.schema, description }]),
  );
  return {
    $schema: 'http://json-schema.org/draft-04/schema#',
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(properties),
    ...(needed.length === 0 ? {} : { required: needed }),
  };
}

/** A rule of the operator: a share, with all paths below it, and the orgs and spaces that may use it. */
export interface AllowedShare {
  /** The share in the normalised form of the option `share`. */
  readonly share: string;
  /** GUIDs. Absent means all. */
  readonly organizations?: readonly string[] | undefined;
  readonly spaces?: readonly string[] | undefined;
}

/** The org and space that want to use a share. */
interface ShareConsumer {
  /** undefined if the platform does not send it. Then no rule with `organizations` applies. */
  readonly organizationGuid: string | undefined;
  readonly spaceGuid: string;
}

/** Returns true if a rule allows the share for the org and space, or if there are no rules. */
export function isAllowed(
  rules: readonly AllowedShare[] | undefined,
  share: string,
  asker: ShareConsumer,
): boolean {
  if (rules === undefined) return true;
  return rules.some(
    (rule) =>
      isWithin(share, rule.share) &&
      includesOrAll(asker.organizationGuid, rule.organizations) &&
      includesOrAll(asker.spaceGuid, rule.spaces),
  );
}

const includesOrAll = (guid: string | undefined, allowed: readonly string[] | undefined): boolean =>
  allowed === undefined || (guid !== undefined && allowed.includes(guid));

function isWithin(share: string, directory: string): boolean {
  const whole = directory.replace(/\/+$/u, '');
  return share === directory || share === whole || share.startsWith(`${whole}/`);
}

export const shareNotAllowed =
  'the share is not allowed to this org and space; ask the operator of the broker for it (allowed_shares)';
