/** Attributes of a request for the authorizer (apiserver pkg/authorization/authorizer). */
export type Attributes = ResourceAttributes | PathAttributes;

export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  /** The plural name of the resource. */
  readonly resource: string;
  readonly subresource?: string | undefined;
  /** Absent for cluster-scoped resources and for all namespaces. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Attributes of a path that is not a resource, such as `/openapi/v3`. */
interface PathAttributes {
  readonly verb: string;
  readonly path: string;
}

/** rbac.authorization.k8s.io/v1 PolicyRule. */
export interface PolicyRule {
  verbs?: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** Returns true if the rule allows the request (kubernetes: pkg/apis/rbac/v1/evaluation_helpers.go). */
export function ruleMatches(rule: PolicyRule, attributes: Attributes): boolean {
  if (!matchesOrWildcard(rule.verbs, attributes.verb)) return false;
  return 'path' in attributes
    ? (rule.nonResourceURLs ?? []).some((pattern) => urlMatches(pattern, attributes.path))
    : matchesOrWildcard(rule.apiGroups, attributes.group) &&
        (rule.resources ?? []).some((resource) => resourceMatches(resource, attributes)) &&
        namesMatch(rule, attributes);
}

function matchesOrWildcard(values: readonly string[] | undefined, value: string): boolean {
  return (values ?? []).some((candidate) => candidate === '*' || candidate === value);
}

/** Matches `*`, `pods`, `pods/exec`, and a subresource of every resource: `scale` after `*` and a slash. */
function resourceMatches(pattern: string, attributes: ResourceAttributes): boolean {
  if (pattern === '*' || pattern === qualifiedResource(attributes)) return true;
  const { subresource = '' } = attributes;
  return subresource !== '' && pattern === `*/${subresource}`;
}

function namesMatch({ resourceNames = [] }: PolicyRule, { name = '' }: ResourceAttributes): boolean {
  return resourceNames.length === 0 || resourceNames.includes(name);
}

function urlMatches(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === '*') end -= 1;
  return end < pattern.length && path.startsWith(pattern.slice(0, end));
}

/** Returns the number of rights that `breakdownRule` makes of a rule. */
export function countRuleParts({
  verbs = [],
  nonResourceURLs = [],
  apiGroups = [],
  resources = [],
  resourceNames = [],
}: PolicyRule): number {
  const names = Math.max(1, resourceNames.length);
  return verbs.length * (nonResourceURLs.length + apiGroups.length * resources.length * names);
}

/** Splits a rule into its single rights (component-helpers auth/rbac/validation BreakdownRule). */
export function breakdownRule(rule: PolicyRule): PolicyRule[] {
  const { verbs = [], nonResourceURLs = [], resourceNames = [] } = rule;
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  return verbs.flatMap((verb) => [
    ...nonResourceURLs.map((url) => ({ nonResourceURLs: [url], verbs: [verb] })),
    ...(rule.apiGroups ?? []).flatMap((group) =>
      (rule.resources ?? []).flatMap((resource) =>
        names.map((name) => ({
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          ...(name === undefined ? {} : { resourceNames: [name] }),
        })),
      ),
    ),
  ]);
}

/**
 * Returns true if the rule `granted` covers the single right `requested`; wildcards are compared literally
 * (ruleCovers).
 */
export function ruleCovers(granted: PolicyRule, requested: PolicyRule): boolean {
  const covers = (own: string[] | undefined, all: string[] | undefined): boolean =>
    (own ?? []).includes('*') || (all ?? []).every((value) => (own ?? []).includes(value));
  const names = granted.resourceNames ?? [];
  const namesCovered =
    names.length === 0 ||
    ((requested.resourceNames ?? []).length > 0 &&
      (requested.resourceNames ?? []).every((name) => names.includes(name)));
  const resourcesCovered =
    covers(granted.resources, requested.resources) ||
    (requested.resources ?? []).every((resource) =>
      (granted.resources ?? []).includes(`*/${resource.split('/')[1] ?? ''}`),
    );
  const urlsCovered = (requested.nonResourceURLs ?? []).every((url) =>
    (granted.nonResourceURLs ?? []).some((pattern) => urlMatches(pattern, url)),
  );
  return (
    covers(granted.verbs, requested.verbs) &&
    covers(granted.apiGroups, requested.apiGroups) &&
    resourcesCovered &&
    namesCovered &&
    urlsCovered
  );
}

/** Returns the resource with its subresource: `pods/exec`. */
export function qualifiedResource({ resource, subresource = '' }: ResourceAttributes): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}
