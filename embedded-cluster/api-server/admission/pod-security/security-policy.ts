import type { Pod } from '../../../../src/kubernetes/types/pod.ts';
import { invalidValue, type Cause } from '../../errors/field-causes.ts';
import { baselineChecks } from './baseline-checks.ts';
import { restrictedChecks } from './restricted-checks.ts';
import type { SecurityCheck } from './violation.ts';

const prefix = 'pod-security.kubernetes.io/';
const levels = ['privileged', 'baseline', 'restricted'] as const;
const modes = ['enforce', 'audit', 'warn'] as const;

export type SecurityMode = (typeof modes)[number];

/** The setting of one mode of a namespace: the level, and the version of Kubernetes that defines it. */
export interface LevelVersion {
  readonly level: (typeof levels)[number];
  /** `latest` or `v1.25`. */
  readonly version: string;
}

type Labels = Readonly<Record<string, string>>;

/**
 * Returns the causes for labels of a namespace that are not a valid level or version
 * (pod-security-admission/api/helpers.go).
 */
export function checkSecurityLabels(labels: Labels): Cause[] {
  return modes.flatMap((mode) => {
    const [level, version] = [labels[`${prefix}${mode}`], labels[`${prefix}${mode}-version`]];
    return [
      ...(level === undefined || isLevel(level)
        ? []
        : [invalidValue(fieldOf(mode), level, 'must be one of privileged, baseline, restricted')]),
      ...(version === undefined || isVersion(version)
        ? []
        : [invalidValue(fieldOf(`${mode}-version`), version, 'must be "latest" or "v1.x"')]),
    ];
  });
}

const fieldOf = (name: string): string => `metadata.labels[${prefix}${name}]`;
const isLevel = (text: string): text is LevelVersion['level'] => (levels as readonly string[]).includes(text);
const isVersion = (text: string): boolean => text === 'latest' || /^v1\.(0|[1-9]\d*)$/u.test(text);

/**
 * Returns the policy of a namespace. If the labels set no level for warnings, the enforced level also warns,
 * unless it is privileged.
 */
export function policyOfNamespace(labels: Labels): Readonly<Record<SecurityMode, LevelVersion>> {
  const of = (mode: SecurityMode): LevelVersion => {
    const [level = '', version = ''] = [labels[`${prefix}${mode}`], labels[`${prefix}${mode}-version`]];
    return { level: isLevel(level) ? level : 'privileged', version: isVersion(version) ? version : 'latest' };
  };
  const enforce = of('enforce');
  const warn = of('warn');
  const own = labels[`${prefix}warn`] !== undefined;
  const version = labels[`${prefix}warn-version`] === undefined ? enforce.version : warn.version;
  const implied = !own && enforce.level !== 'privileged';
  return { enforce, audit: of('audit'), warn: implied ? { level: enforce.level, version } : warn };
}

/** Returns `baseline:latest`. */
export const describeLevel = ({ level, version }: LevelVersion): string => `${level}:${version}`;

/** The first Kubernetes 1.x in which a check belongs to the level; earlier versions do not have the check. */
const minVersion = new Map<SecurityCheck, number>([
  [restrictedChecks.allowPrivilegeEscalation, 8],
  [restrictedChecks.capabilities, 22],
  [restrictedChecks.runAsUser, 23],
  [restrictedChecks.seccompProfile, 19],
]);

/**
 * Checks of `restricted`, with the check of `baseline` that each replaces, so that a violation is reported
 * once.
 */
const overrideChecks = new Map<SecurityCheck, SecurityCheck>([
  [restrictedChecks.capabilities, baselineChecks.capabilities],
  [restrictedChecks.volumes, baselineChecks.hostPaths],
  [restrictedChecks.seccompProfile, baselineChecks.seccomp],
]);

/** Returns the pod's violations of a level with upstream's texts, or undefined if it has none. Pure. */
export function evaluatePod(
  pod: Pod,
  { level, version }: LevelVersion,
): { reasons: string; details: string } | undefined {
  const minor = version === 'latest' ? Infinity : Number(version.slice('v1.'.length));
  const checks = checksOf(level).filter((check) => (minVersion.get(check) ?? 0) <= minor);
  const overridden = checks.map((check) => overrideChecks.get(check));
  const found = checks.filter((check) => !overridden.includes(check)).flatMap((check) => check(pod) ?? []);
  if (found.length === 0) return undefined;
  return {
    reasons: found.map(({ reason }) => reason).join(', '),
    details: found.map(({ reason, detail }) => `${reason} (${detail})`).join(', '),
  };
}

function checksOf(level: LevelVersion['level']): SecurityCheck[] {
  switch (level) {
    case 'privileged':
      return [];
    case 'baseline':
      return Object.values(baselineChecks);
    case 'restricted':
      return [...Object.values(baselineChecks), ...Object.values(restrictedChecks)];
  }
}
