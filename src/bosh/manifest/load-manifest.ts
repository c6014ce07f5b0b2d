import type { Manifest } from './manifest.ts';

export interface LoadManifestOptions {
  readonly path: string;
  /** `-v name=value`, values already parsed as YAML. They win over every file. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** `--var-file name=path`: the whole file is the value, a string. */
  readonly variableFiles?: Readonly<Record<string, string>>;
  /** `-l path`: YAML files of variables; a later file wins. */
  readonly varsFiles?: readonly string[];
  /** `--vars-store path`: generated values are written there; existing ones never change. */
  readonly varsStorePath?: string;
  /** `-o path`, applied in order before interpolation. */
  readonly opsFiles?: readonly string[];
  /** When generated certificates begin to be valid. */
  readonly now?: () => Date;
}

export interface LoadedManifest {
  readonly manifest: Manifest;
  /** The interpolated manifest as canonical YAML; holds secrets. */
  readonly text: string;
  /** Hex SHA-512 of `text`: `current_manifest_sha` of the state file. */
  readonly sha512: string;
}

/**
 * Reads, patches, interpolates and checks a create-env manifest. Everything that is wrong is one MANIFEST_INVALID with a
 * line per fault, each with file, key path, line and column. The vars store is the only thing written.
 */
export async function loadManifest(options: LoadManifestOptions): Promise<LoadedManifest> {
  throw new Error(`loadManifest is not written yet (${options.path})`);
}
