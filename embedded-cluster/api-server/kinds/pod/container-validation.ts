import type { Container } from '../../../../src/kubernetes/types/pod.ts';
import { invalidValue, unsupported, required, type Cause } from '../../errors/field-causes.ts';
import { checkName } from '../names.ts';
import { checkContainerResources } from '../resources.ts';
import { checkEnum } from './one-of.ts';
import { checkContainerSecurity } from './security-validation.ts';
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
