import { startFlame } from "../flame/input";
import { startReport } from "../report/report";
import { startPage, startParts } from "../shared/part";
import { startTimeline } from "../timeline/input";

startPage();
startReport();
startParts("flame", startFlame);
startParts("timeline", startTimeline);
