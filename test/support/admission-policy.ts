import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { runInNewContext } from 'node:vm';
import { parseAllDocuments } from 'yaml';

/** The account of manifests/rbac, which parameters.yaml lists. */
export const cpiAccount = 'system:serviceaccount:bosh:bosh-cpi';

interface Expression {
  readonly expression: string;
}

interface Policy {
  readonly kind: string;
  readonly spec: {
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly operations: readonly string[];
        readonly resources: readonly string[];
      }[];
    };
    readonly matchConditions?: readonly Expression[];
    readonly variables?: readonly (Expression & { readonly name: string })[];
    readonly validations: readonly (Expression & { readonly message: string })[];
  };
}

/** A request as an admission policy sees it. */
export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'CONNECT';
  /** The resource with its subresource: `pods/exec`. */
  readonly resource: string;
  readonly username: string;
  readonly object: object;
  readonly oldObject?: object | undefined;
}

const directory = new URL('../../manifests/admission/', import.meta.url);
const documentsOf = async (name: string): Promise<unknown[]> =>
  parseAllDocuments(await readFile(new URL(name, directory), 'utf8')).map((document): unknown =>
    document.toJS(),
  );

const policies = ((await documentsOf('attachments-only.yaml')) as Policy[]).filter(
  ({ kind }) => kind === 'ValidatingAdmissionPolicy',
);
const [, params] = await documentsOf('parameters.yaml');

/**
 * Translates to JavaScript the parts of CEL that the policies use (kubernetes.io: Common Expression Language
 * in Kubernetes).
 */
const asScript = (expression: string): string =>
  expression
    .replace(/has\(([\w.]+)\)/gu, '($1 !== undefined)')
    .replace(/('[^']+'|\([^()]+\)|[\w.[\]]+) in ([\w.]+)/gu, 'isIn($1, $2)')
    .replace(/([\w.]+)\.all\((\w), /gu, 'every($1, ($2) => ')
    .replace(/([\w.]+) == ((?:oldObject|variables\.old)[\w.]*)/gu, 'isEqual($1, $2)')
    .replace(/\.filter\((\w), /gu, '.filter(($1) => ')
    .replace(/\.size\(\)/gu, '.length')
    .replace(/\.matches\(('[^']*')\)/gu, '.match($1) !== null')
    .replace(/(object\.spec\.containers) \+ \(/u, '$1.concat(');

const helpers = {
  isIn: (key: string, set: object): boolean => (Array.isArray(set) ? set.includes(key) : key in set),
  every: (set: object, holds: (item: unknown) => boolean): boolean =>
    (Array.isArray(set) ? set : Object.keys(set)).every((item) => holds(item)),
  isEqual: (one: unknown, other: unknown): boolean => isDeepStrictEqual(one, other),
};

/**
 * Returns why the policies of manifests/admission reject a request; undefined if they admit it. An expression
 * that throws rejects the request, as an error does under `failurePolicy: Fail`.
 */
export function refusal(request: AdmissionRequest): string | undefined {
  return policies
    .filter(({ spec }) => isMatched(spec.matchConstraints, request))
    .map((policy) => refusalBy(policy, request))
    .find((message) => message !== undefined);
}

const isMatched = (
  { resourceRules }: Policy['spec']['matchConstraints'],
  { operation, resource }: AdmissionRequest,
): boolean =>
  resourceRules.some(
    ({ operations, resources }) => operations.includes(operation) && resources.includes(resource),
  );

function refusalBy({ spec }: Policy, request: AdmissionRequest): string | undefined {
  const { object, oldObject, username } = request;
  const variables: Record<string, unknown> = {};
  const given = { object, oldObject, params, request: { userInfo: { username } }, variables, ...helpers };
  const evaluate = (expression: string): unknown => {
    try {
      return runInNewContext(`(${asScript(expression)})`, given) as unknown;
    } catch (error) {
      return String(error);
    }
  };
  if ((spec.matchConditions ?? []).some(({ expression }) => evaluate(expression) === false)) return undefined;
  for (const { name, expression } of spec.variables ?? []) variables[name] = evaluate(expression);
  return spec.validations.find(({ expression }) => evaluate(expression) !== true)?.message;
}
