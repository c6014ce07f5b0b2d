import type { OptionScope, OptionTable } from '../options/option-table.ts';
import type { Offering } from './offering.ts';

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
function parameterSchema(table: OptionTable, place: OptionScope, isWhole: boolean): object {
  const rows = table.filter(({ scopes }) => scopes.includes(place));
  const needed = rows.filter(({ requiredAt }) => isWhole && requiredAt === place).map(({ name }) => name);
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
