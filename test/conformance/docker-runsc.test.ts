// The same on gVisor. Its release of 2022, which Debian has, answers `ls` of newer coreutils with EINVAL, hence the older image.
import { describeDocker } from './docker-suite.ts'

await describeDocker({ name: 'docker-runsc', image: 'glovebox/sandbox:bullseye', runtime: 'runsc' })
