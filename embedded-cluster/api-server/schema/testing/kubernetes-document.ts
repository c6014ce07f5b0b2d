import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Resource } from '../../../../src/kubernetes/api.ts';

/** The part of a schema in Kubernetes' OpenAPI v2 document that tests read. */
export interface DocumentedSchema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, DocumentedSchema>>;
  readonly items?: DocumentedSchema;
  readonly additionalProperties?: DocumentedSchema;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

const goModules = (): string => process.env['GOMODCACHE'] ?? join(homedir(), 'go', 'pkg', 'mod');

/** Kubernetes' own description of its API. */
export class KubernetesDocument {
  readonly #definitions: Readonly<Record<string, DocumentedSchema>>;

  private constructor(definitions: Readonly<Record<string, DocumentedSchema>>) {
    this.#definitions = definitions;
  }

  /**
   * Finds the document that `npm run test:cluster` leaves among Go's modules. Returns undefined if it does
   * not exist or is not complete yet.
   */
  static async find(version: string, modules = goModules()): Promise<KubernetesDocument | undefined> {
    const path = join(modules, 'k8s.io', `kubernetes@v${version}`, 'api', 'openapi-spec', 'swagger.json');
    // Go has this file until the module is completely unpacked (go: src/cmd/go/internal/modfetch/fetch.go).
    const partial = join(modules, 'cache', 'download', 'k8s.io', 'kubernetes', '@v', `v${version}.partial`);
    if (existsSync(partial)) return undefined;
    try {
      const { definitions } = JSON.parse(await readFile(path, 'utf8')) as {
        readonly definitions: Readonly<Record<string, DocumentedSchema>>;
      };
      return new KubernetesDocument(definitions);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      if (error instanceof SyntaxError && existsSync(partial)) return undefined;
      throw error;
    }
  }

  /** Returns the fields of a kind at a path without indices; undefined if it has no object there. */
  fieldsAt({ group, version }: Resource, kind: string, path: string): readonly string[] | undefined {
    let schema = Object.values(this.#definitions).find((definition) =>
      definition['x-kubernetes-group-version-kind']?.some(
        (one) => one.kind === kind && one.group === group && one.version === version,
      ),
    );
    for (const name of path === '' ? [] : path.split('.'))
      schema = this.#resolve(this.#resolve(schema)?.properties?.[name]);
    const found = this.#resolve(schema);
    return found === undefined ? undefined : Object.keys(found.properties ?? {});
  }

  #resolve(schema: DocumentedSchema | undefined): DocumentedSchema | undefined {
    if (schema?.$ref !== undefined)
      return this.#resolve(this.#definitions[schema.$ref.split('/').at(-1) ?? '']);
    return schema?.items === undefined ? schema : this.#resolve(schema.items);
  }
}
