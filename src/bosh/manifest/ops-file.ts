import { ProductError } from '../../errors/product-error.ts';
import { ConfigErrors, rootField } from '../yaml/yaml-field.ts';
import type { YamlField } from '../yaml/yaml-field.ts';
import { readGivenYaml } from '../yaml/parse-yaml.ts';
import { describePosition } from '../yaml/yaml-node.ts';
import type { Position, YamlNode } from '../yaml/yaml-node.ts';
import { OperationError, applyOperation } from './apply-operation.ts';
import type { Operation } from './apply-operation.ts';
import { parsePath } from './patch-path.ts';
import type { PathToken } from './patch-path.ts';

/** An operation and its position in the ops file. */
export interface OperationAtPosition {
  readonly operation: Operation;
  readonly position: Position;
  /** The author's error message, from the key `error` of the operation. */
  readonly message: string | undefined;
}

/** Reads an ops file. Throws MANIFEST_INVALID with a line per error. An empty file has no operations. */
export async function readOpsFile(path: string): Promise<readonly OperationAtPosition[]> {
  const problems = new ConfigErrors();
  const root = rootField(await readGivenYaml(path), problems);
  const operations = root.items().flatMap((field) => readOperation(field) ?? []);
  problems.throwIfAny('MANIFEST_INVALID');
  return operations;
}

/** Reads the document at `path` and applies the operations of all ops files, in order. */
export async function readWithOps(path: string, opsFiles: readonly string[] = []): Promise<YamlNode> {
  const [document, ...operations] = await Promise.all([
    readGivenYaml(path),
    ...opsFiles.map((file) => readOpsFile(file)),
  ]);
  return applyOperations(document, operations.flat());
}

/**
 * Applies all operations in order. Throws MANIFEST_INVALID with file, line and path of the first one that
 * does not fit.
 */
export function applyOperations(document: YamlNode, operations: readonly OperationAtPosition[]): YamlNode {
  return operations.reduce((current, { operation, position, message }) => {
    try {
      return applyOperation(current, operation);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      const reason = message === undefined ? error.message : `${message}: ${error.message}`;
      throw new ProductError(
        'MANIFEST_INVALID',
        `${describePosition(position)}: cannot ${operation.type} '${operation.path}': ${reason}`,
      );
    }
  }, document);
}

function readOperation(field: YamlField): OperationAtPosition | undefined {
  const type = field.get('type').requiredText();
  const path = field.get('path').text();
  const message = field.get('error').text();
  const { nodePosition: position } = field;
  if (path === undefined) {
    field.problem("the operation has no 'path'");
    return undefined;
  }
  const tokens = readPath(field.get('path'), path);
  const value = requiredValue(field);
  switch (type) {
    case 'replace':
      if (value === undefined) return operationError(field, "a 'replace' needs a 'value' other than null");
      return { operation: { type, path, tokens, value }, position, message };
    case 'remove':
      if (value !== undefined) return operationError(field, "a 'remove' takes no 'value'");
      return { operation: { type, path, tokens }, position, message };
    case 'test': {
      const absent = field.get('absent').boolean() === true;
      if (value === undefined && !absent)
        return operationError(field, "a 'test' needs a 'value' other than null, or 'absent: true'");
      return { operation: { type, path, tokens, value: absent ? undefined : value }, position, message };
    }
    case '':
      return undefined;
    default:
      return operationError(
        field.get('type'),
        `'${type}' is not an operation; expected replace, remove or test`,
      );
  }
}

/** Returns the value of an operation. go-patch, and so the bosh CLI, treats an explicit null as missing. */
function requiredValue(field: YamlField): YamlNode | undefined {
  const { node } = field.get('value');
  return node?.kind === 'scalar' && node.value === null ? undefined : node;
}

function readPath(field: YamlField, path: string): readonly PathToken[] {
  try {
    return parsePath(path);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    field.problem(error.message);
    return [];
  }
}

function operationError(field: YamlField, message: string): undefined {
  field.problem(message);
  return undefined;
}
