import type { Container, PodSpec, SecurityProfile } from '../../../../src/kubernetes/types/pod.ts';
import { invalidValue, unsupported, required, type Cause } from '../../errors/field-causes.ts';
import { checkName, checkEnum } from '../checks.ts';
import { checkContainerResources } from '../quantities.ts';
import { checkVolumeMounts } from './volume-validation.ts';

/** The parts of a pod that its containers are validated against. */
interface PodOfContainer {
  readonly volumeNames: ReadonlySet<string | undefined>;
  readonly hostNetwork: boolean;
}

/** Returns the causes for one container of a pod. */
export function checkContainer(
  at: string,
  container: Container,
  { volumeNames, hostNetwork }: PodOfContainer,
): Cause[] {
  const image = container.image ?? '';
  return [
    ...((container.name ?? '') === ''
      ? [required(`${at}.name`)]
      : checkName(`${at}.name`, container.name, 'label')),
    ...(image === '' ? [required(`${at}.image`)] : []),
    ...(image === image.trim()
      ? []
      : [invalidValue(`${at}.image`, image, 'must not have leading or trailing whitespace')]),
    ...checkEnum(`${at}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']),
    ...checkEnum(`${at}.terminationMessagePolicy`, container.terminationMessagePolicy, [
      'File',
      'FallbackToLogsOnError',
    ]),
    ...checkEnvironment(`${at}.env`, container),
    ...checkPorts(`${at}.ports`, container, hostNetwork),
    ...checkContainerResources(`${at}.resources`, container.resources),
    ...checkVolumeMounts(`${at}.volumeMounts`, container, volumeNames),
    ...(container.lifecycle?.preStop !== undefined &&
    (container.lifecycle.preStop.exec?.command ?? []).length === 0
      ? [required(`${at}.lifecycle.preStop.exec.command`)]
      : []),
    ...checkContainerSecurity(`${at}.securityContext`, container),
  ];
}

function checkEnvironment(at: string, { env }: Container): Cause[] {
  return (env ?? []).flatMap(({ name }, index) => {
    if ((name ?? '') === '') return [required(`${at}[${index}].name`)];
    const bad = /[=\0]/.test(name);
    return bad
      ? [invalidValue(`${at}[${index}].name`, name, "a valid environment variable name must not contain '='")]
      : [];
  });
}

function checkPorts(at: string, { ports }: Container, hostNetwork: boolean): Cause[] {
  return (ports ?? []).flatMap((port, index) => [
    ...(port.containerPort === undefined ? [required(`${at}[${index}].containerPort`)] : []),
    ...(port.containerPort === undefined || (port.containerPort >= 1 && port.containerPort <= 65_535)
      ? []
      : [
          invalidValue(
            `${at}[${index}].containerPort`,
            port.containerPort,
            'must be between 1 and 65535, inclusive',
          ),
        ]),
    ...(port.hostPort === undefined || hostNetwork
      ? []
      : [unsupported(`${at}[${index}].hostPort`, 'host ports')]),
    ...(port.hostPort === undefined || !hostNetwork || port.hostPort === port.containerPort
      ? []
      : [
          invalidValue(
            `${at}[${index}].hostPort`,
            port.hostPort,
            'must match `containerPort` when `hostNetwork` is true',
          ),
        ]),
    ...checkEnum(`${at}[${index}].protocol`, port.protocol, ['SCTP', 'TCP', 'UDP']),
  ]);
}

/**
 * Returns the causes for a container's securityContext (kubernetes: pkg/apis/core/validation,
 * ValidateSecurityContext).
 */
function checkContainerSecurity(at: string, { securityContext = {} }: Container): Cause[] {
  const { privileged, allowPrivilegeEscalation, capabilities } = securityContext;
  const contradicts = (what: string): Cause =>
    invalidValue(at, securityContext, `cannot set \`allowPrivilegeEscalation\` to false and ${what}`);
  return [
    ...(allowPrivilegeEscalation === false && privileged === true
      ? [contradicts('`privileged` to true')]
      : []),
    ...(allowPrivilegeEscalation === false && capabilities?.add?.includes('CAP_SYS_ADMIN') === true
      ? [contradicts('`capabilities.Add` CAP_SYS_ADMIN')]
      : []),
    ...checkIds(at, securityContext),
    ...checkProfiles(at, securityContext),
  ];
}

/** Returns the causes for the securityContext of a pod. */
export function checkPodSecurity(at: string, { securityContext = {} }: PodSpec): Cause[] {
  return [...checkIds(at, securityContext), ...checkProfiles(at, securityContext)];
}

interface Security {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly seccompProfile?: SecurityProfile;
  readonly appArmorProfile?: SecurityProfile;
}

function checkIds(at: string, security: Security): Cause[] {
  return (['runAsUser', 'runAsGroup'] as const).flatMap((name) => {
    const id = security[name];
    return id === undefined || (id >= 0 && id <= 2_147_483_647)
      ? []
      : [invalidValue(`${at}.${name}`, id, 'must be between 0 and 2147483647, inclusive')];
  });
}

function checkProfiles(at: string, { seccompProfile, appArmorProfile }: Security): Cause[] {
  return [
    ...checkProfile(`${at}.seccompProfile`, seccompProfile, 'seccomp'),
    ...checkProfile(`${at}.appArmorProfile`, appArmorProfile, 'AppArmor'),
  ];
}

function checkProfile(at: string, profile: SecurityProfile | undefined, kind: string): Cause[] {
  if (profile === undefined) return [];
  const { localhostProfile } = profile;
  const type: string = profile.type ?? '';
  return [
    ...(type === ''
      ? [required(`${at}.type`)]
      : checkEnum(`${at}.type`, type, ['Localhost', 'RuntimeDefault', 'Unconfined'])),
    ...(type === 'Localhost' && (localhostProfile ?? '') === '' ? [required(`${at}.localhostProfile`)] : []),
    ...(type !== 'Localhost' && localhostProfile !== undefined
      ? [
          invalidValue(
            `${at}.localhostProfile`,
            localhostProfile,
            `can only be set when ${kind} type is Localhost`,
          ),
        ]
      : []),
  ];
}
