// Daemons that hang, die and come back under execs and commands of sandboxes, on runc and on gVisor. Needs a Docker daemon with both images: GLOVEBOX_REQUIRE=docker,docker-runsc
// script/setup brings them. Usage: script/campaign dockerd-away
import { runLongForm } from '../long-form.ts'

process.exitCode = runLongForm(['docker-dockerd-away', 'execs-dockerd-away', 'execs-dockerd', 'execs-late-dockerd'])
