/** The destination of an image. */
export type Destination =
  | { readonly kind: 'containerd'; readonly address: string | undefined }
  | { readonly kind: 'kind'; readonly cluster: string }
  | { readonly kind: 'minikube'; readonly profile: string };

/** The program that imports the image. */
export interface ImageImporter {
  readonly program: string;
  /** `file` is the path of the archive, for programs that do not read it from stdin. */
  readonly args: (file: string) => readonly string[];
  readonly reads: 'stdin' | 'file';
  readonly install: string;
}

/** The namespace of containerd that a kubelet uses (containerd: docs/cri/architecture.md). */
const namespace = 'k8s.io';

/**
 * - containerd: `ctr images import -`, which also unpacks the image, so that the first pod does not wait for
 *   that.
 * - kind: `kind load image-archive FILE`, into every node of the cluster (kind.sigs.k8s.io, quick start). It
 *   reads the file once per node, so the file cannot be a pipe.
 * - minikube: `minikube image load -` (minikube.sigs.k8s.io, commands/image).
 */
export function importerFor(destination: Destination): ImageImporter {
  switch (destination.kind) {
    case 'containerd': {
      const { address } = destination;
      const at = address === undefined ? [] : ['--address', address];
      return {
        program: 'ctr',
        args: () => [...at, '--namespace', namespace, 'images', 'import', '-'],
        reads: 'stdin',
        install: 'it comes with containerd',
      };
    }
    case 'kind':
      return {
        program: 'kind',
        args: (file) => ['load', 'image-archive', file, '--name', destination.cluster],
        reads: 'file',
        install: 'see kind.sigs.k8s.io',
      };
    case 'minikube':
      return {
        program: 'minikube',
        args: () => ['--profile', destination.profile, 'image', 'load', '-'],
        reads: 'stdin',
        install: 'see minikube.sigs.k8s.io',
      };
  }
}
