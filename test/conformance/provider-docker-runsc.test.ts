// The same on gVisor. Its release of 2022, which Debian has, answers `ls` of newer coreutils with EINVAL, hence the older image.
import { describeProviderOnDocker } from './provider-docker-suite.ts'

await describeProviderOnDocker({ name: 'docker-runsc', image: 'glovebox/sandbox:bullseye', runtime: 'runsc' })
