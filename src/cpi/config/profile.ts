import { type ContainerSecurityContext } from '../../kubernetes/types/pod.ts';

/**
 * The access that a VM's container has to the node: all of it, CAP_SYS_ADMIN over its own mounts, or no more
 * than any container. The agent of this project boots with each; docs/cpi/vms.md lists what each cannot do.
 */
export const profiles = ['privileged', 'sys-admin', 'baseline'] as const;

export type SecurityProfile = (typeof profiles)[number];

/** Returns the securityContext of the VM's container. With baseline it satisfies Pod Security "baseline". */
export function profileSecurity(profile: SecurityProfile): ContainerSecurityContext {
  switch (profile) {
    case 'privileged':
      return { privileged: true, runAsUser: 0 };
    case 'sys-admin':
      return {
        privileged: false,
        runAsUser: 0,
        capabilities: { add: ['SYS_ADMIN'] },
        // containerd's default profile denies mount(2) whatever the capabilities are
        // (contrib/apparmor/template.go)
        appArmorProfile: { type: 'Unconfined' },
      };
    case 'baseline':
      return { privileged: false, runAsUser: 0 };
  }
}
