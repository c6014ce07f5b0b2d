import { ProductError } from '../../errors/product-error.ts';
import { openVariables, type VariableOptions } from '../variables/open-variables.ts';
import type { VariableSource } from '../variables/variable.ts';
import { ConfigErrors } from '../yaml/yaml-field.ts';
import { toGoYaml } from '../yaml/go-yaml.ts';
import { describePosition } from '../yaml/yaml-node.ts';
import type { YamlNode } from '../yaml/yaml-node.ts';
import { OperationError, find } from './apply-operation.ts';
import { interpolate } from './interpolate.ts';
import { readWithOps } from './ops-file.ts';
import { parsePath } from './patch-path.ts';

export interface InterpolateOptions extends VariableOptions {
  readonly path: string;
  readonly opsFiles?: readonly string[] | undefined;
  /** `--path`: print only the value at this path, which has the syntax of ops files. */
  readonly valuePath?: string | undefined;
  /** `--var-errs`: a variable without a value is an error. Without the option it stays unchanged. */
  readonly varErrs?: boolean | undefined;
  /** `--var-errs-unused`: a value that no variable uses is an error. */
  readonly varErrsUnused?: boolean | undefined;
}

/**
 * Returns the output of `bosh interpolate` (bosh-cli: cmd/interpolate.go) for any YAML document. It contains
 * secrets. A string at `valuePath` is printed as it is, not as YAML. Throws MANIFEST_INVALID with a line per
 * error.
 */
export async function interpolateTemplate(options: InterpolateOptions): Promise<string> {
  const { path, opsFiles, valuePath, varErrs, varErrsUnused } = options;
  const document = await readWithOps(path, opsFiles);
  const given = await openVariables(options);
  const used = new Set<string>();
  const problems = new ConfigErrors();
  const missing = varErrs === true ? 'refuse' : 'keep';
  const node = await interpolate(document, noting(given.source, used), problems, missing);
  const unused = varErrsUnused === true ? (await given.names()).filter((name) => !used.has(name)) : [];
  for (const name of new Set(unused.toSorted()))
    problems.add({ file: path, line: 1, column: 1 }, '', `variable '${name}' is given but not used`);
  problems.throwIfAny('MANIFEST_INVALID');
  const found = valuePath === undefined ? node : valueAt(node, valuePath);
  if (valuePath !== undefined && found?.kind === 'scalar' && typeof found.value === 'string')
    return `${found.value}\n`;
  return found === undefined ? 'null\n' : toGoYaml(found);
}

function noting(source: VariableSource, used: Set<string>): VariableSource {
  return {
    expect: (definitions) => source.expect(definitions),
    get: (definition) => {
      used.add(definition.name);
      return source.get(definition);
    },
  };
}

/** Returns the value at the path, or undefined if it does not exist and the path is optional (`?`). */
function valueAt(node: YamlNode, path: string): YamlNode | undefined {
  const tokens = parseValuePath(path);
  try {
    return find(node, path, tokens);
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    throw new ProductError(
      'MANIFEST_INVALID',
      `${describePosition(node.position)}: --path '${path}': ${error.message}`,
    );
  }
}

function parseValuePath(path: string): ReturnType<typeof parsePath> {
  try {
    return parsePath(path);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new ProductError('INVALID_ARGUMENT', `--path '${path}': ${error.message}`);
  }
}
