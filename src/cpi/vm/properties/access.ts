import { child, optionalStringAt, stringsAt } from '../../input.ts';
import type { Topic } from './topic.ts';

export interface Access {
  /** Absent: the pod gets no token. */
  readonly serviceAccount: string | undefined;
  /** The secrets of the configuration and of the VM. */
  readonly imagePullSecrets: readonly string[];
}

/** `service_account` and `image_pull_secrets`: the APIs and registries that the VM's pod may use. */
export const access: Topic<Access> = {
  keys: ['service_account', 'image_pull_secrets'],
  parse: (properties, place, { kubernetes }) => ({
    serviceAccount: optionalStringAt(properties['service_account'], child(place, 'service_account')),
    imagePullSecrets: [
      ...kubernetes.imagePullSecrets,
      ...stringsAt(properties['image_pull_secrets'], child(place, 'image_pull_secrets')),
    ],
  }),
};
