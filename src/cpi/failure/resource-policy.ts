import type { ApiError } from '../../kubernetes/api-error.ts';
import { fixedRequests, holderContainer, prepareContainer, vmContainer } from '../own-containers.ts';
import type { Explanation } from './explain-api-error.ts';

const forbidden = (next: string): Explanation => ({ code: 'KUBERNETES_FORBIDDEN', next });

/**
 * A quota on something that a container says nothing about; `missing` is the quota's list,
 * `limits.cpu for: bosh,prepare; limits.memory for: bosh` (pkg/quota/v1/evaluator/core/pods.go). Pure.
 */
export function unspecified(missing: string): Explanation {
  const wanted = [...missing.matchAll(/(\S+) for: ([^;\s]+)/gu)].map(([, resource = '', names = '']) => ({
    resource,
    others: names.split(',').filter((name) => name !== vmContainer),
  }));
  const fixed = wanted.filter(({ others }) => others.length > 0);
  if (fixed.length === 0) {
    const words = listed(wanted.map(({ resource }) => resource));
    return forbidden(`set ${words} by resources in cloud_properties or by defaults.resources`);
  }
  const resources = listed(fixed.map(({ resource }) => resource));
  const containers = listed(fixed.flatMap(({ others }) => others));
  return forbidden(
    `no property sets ${resources} of container ${containers}: make a LimitRange in that namespace whose defaults (type Container) do`,
  );
}

/** A LimitRange that a container does not meet; which one it is the message does not say (plugin/pkg/admission/limitranger). Pure. */
export function outOfRange({ message }: ApiError): Explanation {
  const container = fixedContainer(message);
  if (container === undefined) return forbidden('change the resources of the VM or the LimitRange');
  const isOfDisk = container !== prepareContainer;
  const change = / ratio per /u.test(message)
    ? 'raise the maxLimitRequestRatio of the LimitRange or lower its default limit'
    : 'lower the min of the LimitRange';
  return forbidden(
    `that is container ${container}, which requests a fixed small amount, and no property changes that: ${change}` +
      (isOfDisk ? ', or have the disks in another namespace (kubernetes.disk_namespace)' : ''),
  );
}

/** The container of a pod of a disk, or that of a VM whose request it is; undefined: the VM's own, which has properties. */
function fixedContainer(message: string): string | undefined {
  const [, kind] = /^pods "(attach|bind)-/u.exec(message) ?? [];
  if (kind !== undefined) return kind === 'attach' ? holderContainer : 'bind';
  const asked = [...message.matchAll(/but request is ([^,.\]\s]+)/gu)].map(([, amount = '']) => amount);
  const isFixed = asked.some((amount) => Object.values<string>(fixedRequests).includes(amount));
  return isFixed ? prepareContainer : undefined;
}

const listed = (words: readonly string[]): string => [...new Set(words)].join(' and ');
