// In a file of its own, because the help shows these flags and loads no bundle.
export const k8sBindingFlags = {
  namespace: { type: 'string', value: 'NAME', help: 'Namespace of the pods' },
  secret: { type: 'string', value: 'NAME', help: 'An existing Secret with the login; none is written' },
  patch: { type: 'string', value: 'CONTAINER', help: 'Print a patch for this container of a Deployment' },
  inline: { type: 'boolean', help: 'SMB in the pod itself' },
  'run-as-owner': { type: 'boolean', help: 'Run as the owner of the files of an NFS share' },
} as const;
